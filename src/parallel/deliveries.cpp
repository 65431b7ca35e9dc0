#include "src/parallel/deliveries.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "src/parallel/batch_order.h"

namespace xflow::parallel {

std::size_t Deliveries::size() const {
  const auto bytes = [](const auto& list) { return list.size() * sizeof(list[0]); };
  return sizeof(Deliveries) + bytes(first_tensor) + bytes(copies) + bytes(gradients) + bytes(tensors) + bytes(groups) + bytes(readers) +
         bytes(first_part) + bytes(waits) + bytes(joins) + bytes(first_gradient) + bytes(gradient) + bytes(kept) + bytes(work_forward) +
         bytes(work_backward);
}

class DeliveryBook::Builder {
 public:
  Builder(DeliveryBook& book, std::uint32_t maker, const std::vector<const PlannedOperator*>& now)
      : book_(book), op_(book.model_.operators()[maker]), own_(*now[maker]), now_(now) {}

  std::shared_ptr<const Deliveries> make(const std::vector<Reader>& readers) {
    const std::size_t parts = own_.works.size();
    sent_.resize(parts);
    made_->copies.resize(parts);
    made_->gradients.resize(parts);
    for (std::size_t at = 0; at < own_.held.size(); ++at)
      for (const std::uint32_t part : own_.held[at].parts) order_.push_back(part);
    for (const Reader& reader : readers) {
      made_->first_part.push_back(static_cast<std::uint32_t>(made_->waits.size()));
      made_->crosses.push_back(false);
      const PlannedOperator& planned = *now_[reader.op];
      for (std::uint32_t part = 0; part < planned.works.size(); ++part) read(reader, planned, part);
    }
    made_->first_part.push_back(static_cast<std::uint32_t>(made_->waits.size()));
    made_->first_gradient.push_back(static_cast<std::uint32_t>(made_->gradient.size()));
    add_tensors();
    made_->work_forward.assign(forward_.begin(), forward_.end());
    made_->work_backward.assign(backward_.begin(), backward_.end());
    return std::move(made_);
  }

 private:
  struct Sent {
    std::uint32_t output = 0;
    std::uint32_t box = 0;
    double bytes = 0;
    std::vector<std::uint32_t> readers;  // numbers of parts
  };

  void read(const Reader& reader, const PlannedOperator& planned, std::uint32_t part) {
    const auto number = static_cast<std::uint32_t>(made_->waits.size());
    made_->waits.push_back(0);
    made_->is_own.push_back(false);
    made_->joins.emplace_back();
    made_->first_gradient.push_back(static_cast<std::uint32_t>(made_->gradient.size()));
    const std::uint32_t device = planned.devices[part];
    devices_.push_back(device);
    if (planned.is_dead) return;
    const SplitOperator& op = book_.model_.operators()[reader.op];
    for (const auto& [read, output] : reader.reads) {
      const PartOperand& operand = book_.operators_.read_by(reader.op, read, planned, own_, output)[part];
      for (const OperandSource& source : operand.sources) {
        const std::uint32_t from = order_[own_.held[source.held].first + source.holder];
        take(from, output, source, number);
        note_batches(from, planned.batches[part], number);
        if (book_.kind_ == StepKind::training) add_gradient(from, source, planned, part);
      }
      if (!operand.copies.empty() && joined_.emplace(output, operand.box, device).second) {
        for (const double seconds : operand.copies) {
          made_->joins[number].push_back({read, seconds});
          forward_[device] += seconds;
          backward_[device] += seconds;
        }
      }
      const bool is_kept = book_.kind_ == StepKind::training && op.keeps_operands && !operand.sources.empty();
      if (is_kept && kept_.emplace(output, operand.box, device).second) made_->kept.emplace_back(device, operand.bytes);
    }
  }

  // A part of a reader reads a tensor of a part.
  void take(std::uint32_t from, std::uint32_t output, const OperandSource& source, std::uint32_t reader) {
    std::vector<Sent>& sent = sent_[from];
    auto tensor = std::ranges::find_if(sent, [&](const Sent& own) { return own.output == output && own.box == source.box; });
    if (tensor == sent.end()) {
      tensor = sent.insert(sent.end(), {output, source.box, source.sent, {}});
      if (source.is_copied) {
        const std::uint32_t device = own_.devices[from];
        const double seconds = book_.model_.copy_seconds(book_.model_.source_of(device), source.sent);
        made_->copies[from].push_back(seconds);
        forward_[device] += seconds;
        backward_[device] += seconds;
      }
    }
    if (!tensor->readers.empty() && tensor->readers.back() == reader) return;
    tensor->readers.push_back(reader);
    ++made_->waits[reader];
  }

  void note_batches(std::uint32_t from, std::uint32_t batch, std::uint32_t reader) {
    if (own_.batches[from] == batch) {
      if (own_.devices[from] == devices_[reader]) made_->is_own[reader] = true;
    } else if (own_.batches[from] != BatchOrder::kBefore) {
      made_->crosses.back() = true;
    }
  }

  void add_gradient(std::uint32_t to, const OperandSource& source, const PlannedOperator& reader, std::uint32_t part) {
    if (reader.copies_of_each < own_.held[source.held].parts.size()) made_->is_partial = true;
    const std::uint32_t device = reader.devices[part];
    Deliveries::Gradient gradient{to, device == own_.devices[to], false, 0};
    // Copies of a reader have the same gradient.
    if (!gradient.is_here && reader.copies[part] > 0) return;
    gradient.is_own = gradient.is_here && backward_batch(reader.batches[part]) == backward_batch(own_.batches[to]);
    if (!gradient.is_here) {
      gradient.seconds = book_.cluster_.link(device, own_.devices[to]).seconds(source.bytes);
      backward_[book_.cluster_.link_resource(device, own_.devices[to])] += gradient.seconds;
    }
    made_->gradient.push_back(gradient);
    ++made_->gradients[to];
  }

  // The readers of a tensor on one device are a group.
  void add_tensors() {
    const DeviceCluster& cluster = book_.cluster_;
    std::vector<std::vector<std::uint32_t>> of(cluster.size());
    for (std::size_t part = 0; part < sent_.size(); ++part) {
      made_->first_tensor.push_back(static_cast<std::uint32_t>(made_->tensors.size()));
      const std::uint32_t device = own_.devices[part];
      for (const Sent& tensor : sent_[part]) {
        std::vector<std::uint32_t> reached;
        for (const std::uint32_t reader : tensor.readers) {
          if (of[devices_[reader]].empty()) reached.push_back(devices_[reader]);
          of[devices_[reader]].push_back(reader);
        }
        const auto first = static_cast<std::uint32_t>(made_->groups.size());
        for (const std::uint32_t to : reached) {
          const auto begin = static_cast<std::uint32_t>(made_->readers.size());
          made_->readers.insert(made_->readers.end(), of[to].begin(), of[to].end());
          of[to].clear();
          const double seconds = to == device ? 0 : cluster.link(device, to).seconds(tensor.bytes);
          made_->groups.push_back({to, begin, static_cast<std::uint32_t>(made_->readers.size()), seconds});
          if (to != device) forward_[cluster.link_resource(device, to)] += seconds;
        }
        made_->tensors.push_back({first, static_cast<std::uint32_t>(made_->groups.size())});
      }
    }
    made_->first_tensor.push_back(static_cast<std::uint32_t>(made_->tensors.size()));
  }

  DeliveryBook& book_;
  const SplitOperator& op_;
  const PlannedOperator& own_;
  const std::vector<const PlannedOperator*>& now_;
  std::shared_ptr<Deliveries> made_ = std::make_shared<Deliveries>();
  std::vector<std::uint32_t> order_;    // parts by holder
  std::vector<std::uint32_t> devices_;  // of parts of readers
  std::vector<std::vector<Sent>> sent_;
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> joined_;  // result, box and device
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> kept_;
  std::map<std::uint32_t, double> forward_;
  std::map<std::uint32_t, double> backward_;
};

DeliveryBook::DeliveryBook(SplitModel& model, const DeviceCluster& cluster, PlannedOperators& operators, StepKind kind)
    : model_(model), cluster_(cluster), operators_(operators), kind_(kind), readers_(model.operators().size()) {
  const auto all = model.operators();
  for (std::uint32_t op = 0; op < all.size(); ++op) {
    for (std::uint32_t read = 0; read < all[op].reads.size(); ++read) {
      const SplitValue& value = model.values()[all[op].reads[read]];
      if (value.is_constant || value.maker == kNoOperator) continue;
      std::vector<Reader>& own = readers_[value.maker];
      if (own.empty() || own.back().op != op) own.push_back({op, {}});
      const auto& outputs = all[value.maker].outputs;
      const auto output = static_cast<std::uint32_t>(std::ranges::find(outputs, all[op].reads[read]) - outputs.begin());
      own.back().reads.emplace_back(read, output);
    }
  }
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers;
  for (std::uint32_t op = 0; op < all.size(); ++op) {
    std::vector<std::uint32_t> key = {all[op].kind};
    for (const Reader& reader : readers_[op]) {
      key.push_back(all[reader.op].kind);
      key.push_back(static_cast<std::uint32_t>(reader.reads.size()));
      for (const auto& [read, output] : reader.reads) key.insert(key.end(), {read, output});
    }
    alike_.push_back(numbers.try_emplace(std::move(key), static_cast<std::uint32_t>(numbers.size())).first->second);
  }
}

std::shared_ptr<const Deliveries> DeliveryBook::of(std::uint32_t maker, const std::vector<const PlannedOperator*>& now) {
  std::vector<std::uint32_t> key = {alike_[maker], now[maker]->number};
  for (const Reader& reader : readers_[maker]) key.push_back(now[reader.op]->number);
  const auto [found, is_new] = known_.try_emplace(std::move(key));
  if (!is_new) return found->second;
  auto made = Builder(*this, maker, now).make(readers_[maker]);
  found->second = made;
  constexpr std::size_t kMost = 128U << 20U;  // bytes that are remembered
  bytes_ += made->size();
  if (bytes_ > kMost) {
    known_.clear();
    bytes_ = 0;
  }
  return made;
}

}  // namespace xflow::parallel
