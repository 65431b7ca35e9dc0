#include "src/search/part_visits.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace xflow::search {

using ir::NodeId;

namespace {

// Graphs costed for a part: few for large ones, so that no part uses the budget of the others.
constexpr std::uint64_t states_of_part(std::size_t size) {
  return size > 16 ? 3'000 : size > 8 ? 1'000 : size > 4 ? 300 : size > 2 ? 1'000 : 2'000;
}

// Graphs of visits that were not taken, which take about 100 bytes each.
constexpr std::uint64_t kMostAhead = 200'000;
constexpr std::chrono::milliseconds kBetweenLooks{5};

}  // namespace

// --- One visit ------------------------------------------------------------------------------------------------------------------------

bool Search::know_rewrites_of(const WindowRun& run) {
  const auto is_outside = [&](NodeId id) { return is_root(id) && !std::ranges::binary_search(run.inside, id); };
  for (const NodeId root : run.inside) {
    if (!is_root(root)) continue;
    if (stopped()) return false;
    bool found = false;
    for (const auto& candidate : work_.candidates(root, found)) {
      if (std::ranges::any_of(candidate->rewrite.matched, is_outside)) continue;
      if (stopped()) return false;
      work_.find_out(*candidate);
    }
  }
  return true;
}

Search::PartVisit Search::visit_part(const Window& part) {
  outcome_ = {};
  outcome_.bound.emplace();
  WindowRun run{part, work_.graph().arena().size(), std::numeric_limits<double>::infinity(), kOriginal, {}, {}};
  std::ranges::sort(run.inside);
  run.visited.emplace(states_[0].hash, kOriginal);
  run.push({kOriginal, Part::all, states_[0].time});
  PartVisit visit;
  visit.whole = know_rewrites_of(run);
  while (visit.whole) {
    const auto entry = run.take(true);
    if (!entry) break;
    visit.whole = outcome_.bound->states < states_of_part(part.size()) && !stopped() && expand_in(run, *entry);
  }
  visit.ended = ends_run();
  visit.states.assign(states_.begin() + 1, states_.end());
  visit.costed = outcome_.bound->states;
  visit.expanded = outcome_.expanded;
  visit.looks = outcome_.looks;
  visit.rules = std::move(outcome_.rules);
  go_to(kOriginal);
  work_.forget();
  states_.resize(1);
  best_ = kOriginal;
  return visit;
}

Search::PartVisits::Visitor::Visitor(Search& search, ThreadTools tools, std::function<bool()> ended)
    : tools_(std::move(tools)), options_(search.options_), ended_(std::move(ended)), symbols_(search.arena_.symbols().copy()), of_(search) {
  options_.max_seconds.reset();
  options_.seconds = nullptr;
  options_.progress = nullptr;
  options_.interrupt = nullptr;
  options_.stop = [this] { return ended_() ? std::optional(StopReason::max_time) : std::nullopt; };
}

Search::PartVisit Search::PartVisits::Visitor::visit(const Window& part, std::uint64_t most) {
  options_.bound_states = most;
  if (search_ == nullptr) {
    const bool has_tools = tools_.rewriter != nullptr;
    search_ = std::make_unique<Search>(of_.arena_, of_.original_, has_tools ? *tools_.rewriter : of_.rewriter_,
                                       has_tools ? tools_.follow : of_.follow_, options_, symbols_);
    search_->begin();
    search_->is_bounding_ = true;
  }
  return search_->visit_part(part);
}

// --- All visits -----------------------------------------------------------------------------------------------------------------------

Search::PartVisits::PartVisits(Search& search) : search_(search), room_(std::min(search.options_.bound_states, kMostAhead)) {
  const auto& make_tools = search.options_.thread_tools;
  const auto tools = [&] { return make_tools ? make_tools() : ThreadTools{}; };
  // The calling thread alone looks at the limits of the run, and tells how far it is.
  const auto ended = [this] {
    if ((++polls_ & 63U) == 0) search_.report_progress();
    return search_.stopped();
  };
  visitors_.push_back(std::make_unique<Visitor>(search, tools(), ended));
  for (std::size_t k = 1; make_tools && k < search.options_.threads; ++k)
    visitors_.push_back(std::make_unique<Visitor>(search, tools(), [this] { return is_over_.load(std::memory_order_relaxed); }));
  try {
    for (std::size_t k = 1; k < visitors_.size(); ++k) threads_.emplace_back([this, k] { work(*visitors_[k]); });
  } catch (const std::system_error&) {
    visitors_.resize(threads_.size() + 1);  // the system has no more threads
  }
}

void Search::PartVisits::end() {
  {
    const std::scoped_lock lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Search::PartVisits::plan(const Window& part, std::uint64_t key) {
  if (threads_.empty()) return;
  {
    const std::scoped_lock lock(mutex_);
    const auto [task, is_new] = tasks_.try_emplace(key, Task{part, Task::State::waiting, {}});
    if (!is_new) return;
    waiting_.push_back(&task->second);
  }
  changed_.notify_all();
}

Search::PartVisits::Task* Search::PartVisits::next() {
  while (!waiting_.empty() && waiting_.front()->state != Task::State::waiting) waiting_.pop_front();
  return waiting_.empty() || ahead_ >= room_ ? nullptr : waiting_.front();
}

void Search::PartVisits::run(Task& task, Visitor& visitor, std::unique_lock<std::mutex>& lock) {
  task.state = Task::State::running;
  lock.unlock();
  PartVisit visit;
  try {
    visit = visitor.visit(task.part, kNoLimit);
  } catch (...) {
    visitor.reset();
    visit.ended = true;  // the calling thread visits the part itself and meets the error
  }
  lock.lock();
  task.visit = std::move(visit);
  task.state = Task::State::done;
  ahead_ += task.visit.costed;
  changed_.notify_all();
}

void Search::PartVisits::work(Visitor& visitor) {
  std::unique_lock lock(mutex_);
  for (;;) {
    Task* task = nullptr;
    changed_.wait(lock, [&] { return is_over_ || (task = next()) != nullptr; });
    if (is_over_) return;
    run(*task, visitor, lock);
  }
}

Search::PartVisit Search::PartVisits::take(const Window& part, std::uint64_t key, std::uint64_t most) {
  PartVisit visit;
  visit.ended = true;
  if (!threads_.empty()) {
    std::unique_lock lock(mutex_);
    room_ = std::min(most, kMostAhead);
    Task& task = tasks_[key];
    while (task.state == Task::State::running && !search_.stopped()) {
      if (Task* other = next()) {
        run(*other, *visitors_[0], lock);
      } else {
        changed_.wait_for(lock, kBetweenLooks);
      }
    }
    if (task.state == Task::State::done) {
      visit = std::move(task.visit);
      ahead_ -= visit.costed;
    }
    if (task.state != Task::State::running) task.state = Task::State::taken;
    changed_.notify_all();
  }
  // A visit that costs as many graphs as are left, or more, ends at the limit in a run by one thread.
  if (visit.ended || visit.costed >= most) return visitors_[0]->visit(part, most);
  return visit;
}

}  // namespace xflow::search
