#include "src/execution/step_runner.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>
#include <tuple>

#include "src/runtime/plan.h"

namespace xflow::execution {
namespace {

// A kernel that takes so many times its measured time, and the patience of the watchdog, hangs.
constexpr double kMostSlowdown = 10;
// Polls before a process that waits gives its core to others.
constexpr int kPolls = 2000;

}  // namespace

std::vector<SentTensor> sent_tensors(const PartManifest& manifest) {
  std::vector<SentTensor> sent;
  std::set<std::tuple<std::size_t, std::string, std::size_t>> known;
  for (std::size_t reader = 0; reader < manifest.parts.size(); ++reader) {
    const std::size_t to = manifest.parts[reader].device;
    for (const PartTensor& tensor : manifest.parts[reader].inputs) {
      if (!tensor.part) continue;
      const std::size_t from = manifest.parts[*tensor.part].device;
      if (from != to && known.emplace(*tensor.part, tensor.name, to).second) sent.push_back({tensor.name, *tensor.part, from, to, reader});
    }
  }
  return sent;
}

void StepTimes::delay(const PartManifest& manifest, std::span<const SentTensor> tensors, std::span<const double> delays) {
  for (std::size_t part = 0; part < manifest.parts.size(); ++part) {
    part_starts[part] += delays[manifest.parts[part].device];
    part_ends[part] += delays[manifest.parts[part].device];
  }
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    sent[k] += delays[tensors[k].from];
    arrived[k] = std::max(arrived[k] + delays[tensors[k].to], sent[k]);
  }
}

Result<void> StepRunner::bind() {
  inputs_.resize(manifest_.parts.size());
  sends_.resize(sent_.size());
  complete_.resize(sent_.size());
  receives_.resize(sent_.size());
  scratch_.resize(sent_.size());
  sizes_.resize(sent_.size());
  arriving_.resize(sent_.size());
  for (std::size_t k = 0; k < sent_.size() && messages_ != nullptr; ++k) {
    if (!is_own(sent_[k].source)) continue;
    PartProgram& source = *programs_[sent_[k].source];
    const std::size_t output = source.position_of_output(sent_[k].name);
    XFLOW_TRY(sends_[k], source.engine().output_memory(output));
    complete_[k] = source.engine().complete_before(output);
    sizes_[k] = sends_[k].size();
  }
  for (std::size_t k = 0; k < sent_.size(); ++k) by_source_.push_back(k);
  std::ranges::stable_sort(by_source_, {}, [&](std::size_t k) { return sent_[k].source; });
  for (std::size_t part = 0; part <= manifest_.parts.size(); ++part) {
    const auto first = std::ranges::lower_bound(by_source_, part, {}, [&](std::size_t k) { return sent_[k].source; });
    first_sent_.push_back(static_cast<std::size_t>(first - by_source_.begin()));
  }
  for (std::size_t part = 0; part < manifest_.parts.size(); ++part) {
    if (!is_own(part)) continue;
    for (const PartTensor& tensor : manifest_.parts[part].inputs) {
      if (tensor.part) XFLOW_CHECK(bind_input(part, tensor));
    }
    for (std::size_t k = 0; k < manifest_.parts[part].outputs.size(); ++k) {
      const auto memory = programs_[part]->engine().output_memory(k);
      if (!memory) return fail(memory.error());
    }
    std::ranges::stable_sort(inputs_[part], {}, &PartInput::needed);
  }
  return {};
}

Result<void> StepRunner::bind_input(std::size_t part, const PartTensor& tensor) {
  PartInput input;
  input.targets = programs_[part]->engine().input_memory(tensor.name);
  if (is_own(*tensor.part)) {
    PartProgram& source = *programs_[*tensor.part];
    XFLOW_TRY(input.source, source.engine().output_memory(source.position_of_output(tensor.name)));
  } else {
    const auto is_this = [&](const SentTensor& sent) {
      return sent.source == *tensor.part && sent.name == tensor.name && sent.to == manifest_.parts[part].device;
    };
    const auto k = static_cast<std::size_t>(std::ranges::find_if(sent_, is_this) - sent_.begin());
    input.sent = k;
    input.needed = programs_[part]->engine().needed_before(tensor.name);
    if (sent_[k].reader == part) {
      if (input.targets.empty()) {
        const auto& spec = programs_[part]->type_of_input(tensor.name);
        scratch_[k].resize(cost::bytes_of(spec, cost::Layout::plain));
        receives_[k] = scratch_[k];
      } else {
        receives_[k] = input.targets[0];
      }
    }
    input.source = receives_[k];
  }
  for (const std::span<std::byte> target : input.targets) {
    if (target.size() != input.source.size()) return fail(ErrorCode::internal, "a part reads another size than the one before it computes");
  }
  inputs_[part].push_back(std::move(input));
  return {};
}

void StepRunner::wait(std::size_t transfer, std::size_t part) {
  if (messages_->is_done(transfer)) return;
  messages_->tell(RunPhase::waiting, part, Seconds(0));
  for (int polls = 0; !messages_->is_done(transfer); ++polls) {
    if (polls > kPolls) std::this_thread::yield();
  }
}

// Inputs of programs are free from the end of a step to the next one.
void StepRunner::receive_all() {
  for (std::size_t k = 0; k < sent_.size(); ++k) {
    if (sent_[k].to == process())
      arriving_[k] = messages_->receive(sent_[k].from, static_cast<int>(k), receives_[k].data(), receives_[k].size());
  }
}

void StepRunner::take(const PartInput& input, std::size_t part, StepTimes& times) {
  if (!input.sent || times.arrived[*input.sent] >= 0) return;
  wait(arriving_[*input.sent], part);
  times.arrived[*input.sent] = now();
}

std::size_t StepRunner::take_inputs(std::size_t part, std::size_t next, std::size_t launch, StepTimes& times) {
  const std::vector<PartInput>& inputs = inputs_[part];
  for (; next < inputs.size() && inputs[next].needed <= launch; ++next) {
    const PartInput& input = inputs[next];
    const double begin = now();
    take(input, part, times);
    times.part_waits[part] += now() - begin;
    for (const std::span<std::byte> target : input.targets) {
      if (target.data() != input.source.data() && !target.empty()) std::memcpy(target.data(), input.source.data(), target.size());
    }
  }
  // Messages that are not needed yet make progress when they are asked for.
  if (next < inputs.size() && inputs[next].sent && times.arrived[*inputs[next].sent] < 0 &&
      messages_->is_done(arriving_[*inputs[next].sent]))
    times.arrived[*inputs[next].sent] = now();
  return next;
}

Result<void> StepRunner::run_part(std::size_t part, StepTimes& times) {
  for (const PartInput& input : inputs_[part])
    if (input.needed == 0) take(input, part, times);
  times.part_starts[part] = now();
  times.part_waits[part] = 0;
  std::size_t next = take_inputs(part, 0, 0, times);
  PartEngine& engine = programs_[part]->engine();
  if (messages_ == nullptr) {
    XFLOW_CHECK(engine.run(nullptr));
  } else {
    XFLOW_CHECK(engine.run([&](std::size_t launch) {
      send(part, launch, times);
      next = take_inputs(part, next, launch, times);
      messages_->tell(RunPhase::computing, part, kMostSlowdown * engine.predicted(launch));
    }));
  }
  times.part_ends[part] = now();
  if (messages_ == nullptr) return {};
  send(part, engine.launches(), times);
  for (; next < inputs_[part].size(); ++next) take(inputs_[part][next], part, times);
  return {};
}

void StepRunner::send(std::size_t part, std::size_t launch, StepTimes& times) {
  std::erase_if(leaving_, [&](std::size_t transfer) { return messages_->is_done(transfer); });
  for (std::size_t k = first_sent_[part]; k < first_sent_[part + 1]; ++k) {
    const std::size_t tensor = by_source_[k];
    if (complete_[tensor] > launch || times.sent[tensor] >= 0) continue;
    times.sent[tensor] = now();
    leaving_.push_back(messages_->send(sent_[tensor].to, static_cast<int>(tensor), sends_[tensor].data(), sends_[tensor].size()));
  }
}

Result<StepTimes> StepRunner::run() {
  const std::size_t parts = manifest_.parts.size();
  const std::size_t processes = messages_ == nullptr ? 1 : messages_->processes();
  StepTimes times{std::vector<double>(processes, -1), std::vector<double>(parts, -1),        std::vector<double>(parts, -1),
                  std::vector<double>(parts, -1),     std::vector<double>(sent_.size(), -1), std::vector<double>(sent_.size(), -1)};
  if (messages_ != nullptr) {
    receive_all();
    messages_->tell(RunPhase::waiting, kNoPart, Seconds(0));
    messages_->wait_for_all();
  }
  begin_ = std::chrono::steady_clock::now();
  times.begins[process()] = std::chrono::duration<double>(begin_.time_since_epoch()).count();
  for (std::size_t part = 0; part < parts; ++part) {
    if (!is_own(part)) continue;
    XFLOW_CHECK(run_part(part, times));
  }
  for (const std::size_t transfer : leaving_) wait(transfer, kNoPart);
  leaving_.clear();
  return times;
}

}  // namespace xflow::execution
