// What a program in C does with the installed library: optimises the bytes of a model, decides rules, and is given an error for bytes that
// are no model. Exits with the number of the first expectation that does not hold.
#include <stdio.h>
#include <string.h>
#include <xflow/xflow.h>

// y = Relu(x) for x: float32[2, 3], IR version 8, opset 13; nothing can be gained here.
static const unsigned char relu[] = {0x08, 0x08, 0x3a, 0x3b, 0x0a, 0x0c, 0x0a, 0x01, 0x78, 0x12, 0x01, 0x79, 0x22, 0x04,
                                     0x52, 0x65, 0x6c, 0x75, 0x12, 0x01, 0x67, 0x5a, 0x13, 0x0a, 0x01, 0x78, 0x12, 0x0e,
                                     0x0a, 0x0c, 0x08, 0x01, 0x12, 0x08, 0x0a, 0x02, 0x08, 0x02, 0x0a, 0x02, 0x08, 0x03,
                                     0x62, 0x13, 0x0a, 0x01, 0x79, 0x12, 0x0e, 0x0a, 0x0c, 0x08, 0x01, 0x12, 0x08, 0x0a,
                                     0x02, 0x08, 0x02, 0x0a, 0x02, 0x08, 0x03, 0x42, 0x04, 0x0a, 0x00, 0x10, 0x0d};

static int expectations = 0;
#define EXPECT(condition)                                                  \
  do {                                                                     \
    ++expectations;                                                        \
    if (!(condition)) {                                                    \
      printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      return expectations;                                                 \
    }                                                                      \
  } while (0)

int main(void) {
  EXPECT(xflow_c_api_version() == XFLOW_C_API_VERSION);
  EXPECT(strcmp(xflow_version(), XFLOW_VERSION) == 0);

  xflow_error* error = NULL;
  xflow_options* options = xflow_options_new();
  EXPECT(options != NULL);
  EXPECT(xflow_options_set_max_states(options, 100, &error) == XFLOW_STATUS_OK);
  EXPECT(error == NULL);
  EXPECT(xflow_options_set_threads(options, 0, &error) == XFLOW_STATUS_INVALID_ARGUMENT);
  EXPECT(strcmp(xflow_error_text(error), "threads must be from 1 to 1024, found 0") == 0);
  xflow_error_free(error);

  xflow_context* context = xflow_context_new();
  xflow_buffer* model = NULL;
  xflow_report* report = NULL;
  EXPECT(xflow_optimize(context, relu, sizeof relu, options, &model, &report, &error) == XFLOW_STATUS_OK);
  EXPECT(xflow_buffer_size(model) == sizeof relu);
  EXPECT(memcmp(xflow_buffer_data(model), relu, sizeof relu) == 0);
  EXPECT(!xflow_report_improved(report));
  xflow_buffer_free(model);
  xflow_report_free(report);

  xflow_decisions* decisions = NULL;
  const char* rule = "rule twice\n  source\n    y = relu(relu(x))\n  target\n    y = relu(x)\n";
  EXPECT(xflow_verify_rules(context, rule, NULL, &decisions, &error) == XFLOW_STATUS_OK);
  EXPECT(xflow_decisions_size(decisions) == 1);
  EXPECT(xflow_decisions_verdict(decisions, 0) == XFLOW_VERDICT_PROVED);
  xflow_decisions_free(decisions);

  EXPECT(xflow_optimize(context, "no model", 8, options, &model, NULL, &error) == XFLOW_STATUS_UNREADABLE);
  EXPECT(model == NULL);
  xflow_error_free(error);
  xflow_context_free(context);
  xflow_options_free(options);

  printf("%d expectations hold in C\n", expectations);
  return 0;
}
