"""The incremental models against a twin that rebuilds both from the whole multiset each time."""

import itertools
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capscope.errors import CapscopeError
from capscope.journal.execution_table import Transition
from capscope.logic import Effect, Intent, Vocabulary
from capscope.model import ExtremeModels, StateGraph
from capscope_experiments.baselines.qace.compilation import extreme_rules
from support.condition_space import ConditionSpace
from support.model_order import at_most, consistent, equivalent
from support.rule_models import written_out

WORDS = Vocabulary.of_atoms("pqrs")
SPACE = ConditionSpace(WORDS)
ALL = range(2 ** len(WORDS.atoms))
INTENTS = [Intent.parse(text) for text in ("p", "not q and r", "s")]


class Twin:
    """Both extreme models by their definitions, from a multiset of transitions."""

    def __init__(self, transitions):
        self.counts = Counter(transitions)

    def partition(self, capability):
        """Φ_c: effect set → pooled counts of its effects; and state → effect set."""
        seen = defaultdict(Counter)
        for (before, c, after), count in self.counts.items():
            if c == capability:
                seen[before][Effect.between(before, after)] += count
        groups = defaultdict(Counter)
        for effects in seen.values():
            groups[frozenset(effects)].update(effects)
        return dict(groups), {state: frozenset(effects) for state, effects in seen.items()}

    def rules(self, capability, *, optimistic):
        """List (condition, distribution over effects), the condition a set of states."""
        groups, effects_in = self.partition(capability)
        if not groups and optimistic:
            wish = Effect(*WORDS.literal_masks(INTENTS[capability].literals))
            return [(set(ALL), {wish: 1.0})]
        rules = []
        for key, counts in groups.items():
            own = {state for state, effects in effects_in.items() if effects == key}
            others = set(effects_in) - own
            condition = set(ALL) - others if optimistic else own
            spread = {e: n / counts.total() for e, n in counts.items()}
            rules.append((condition, spread))
        return rules

    def predict(self, state, capability, *, optimistic):
        rules = self.rules(capability, optimistic=optimistic)
        holding = [spread for condition, spread in rules if state in condition]
        prediction = defaultdict(float)
        for spread in holding:
            for effect, probability in spread.items():
                prediction[effect.apply(state)] += probability / len(holding)
        return prediction


def assert_equal_predictions(prediction, expected):
    assert prediction.keys() == expected.keys()
    assert dict(prediction) == pytest.approx(dict(expected))


def assert_same_as_twin(graph, twin):
    for state, c in itertools.product(ALL, range(len(graph.capabilities))):
        for optimistic, model in (
            (False, ExtremeModels(graph).pessimistic),
            (True, ExtremeModels(graph).optimistic),
        ):
            expected = twin.predict(state, c, optimistic=optimistic)
            assert_equal_predictions(model.predict(state, graph.capabilities[c]), expected)


# Few states and effects, so that blocks are shared, joined and left.
TRANSITIONS = st.builds(
    lambda state, capability, flip: Transition(state, capability, state ^ flip),
    st.sampled_from([0b0000, 0b0001, 0b0010, 0b0111, 0b1111]),
    st.integers(0, len(INTENTS) - 1),
    st.sampled_from([0b0000, 0b0001, 0b0011, 0b1000]),
)
BATCHES = st.dictionaries(TRANSITIONS, st.integers(1, 5), max_size=12)


def known_now(batch, capabilities):
    """Leave out the capabilities that are not taken up yet."""
    return {t: n for t, n in batch.items() if t.capability < capabilities}


@settings(max_examples=150)
@given(st.lists(st.tuples(BATCHES, st.integers(1, len(INTENTS))), max_size=6))
def test_updated_models_equal_models_rebuilt_from_everything(steps):
    graph = StateGraph(WORDS)
    everything = Counter()
    for batch, capabilities in steps:
        graph.extend(INTENTS[:capabilities])
        batch = known_now(batch, len(graph.capabilities))
        graph.update(batch)
        everything.update(batch)
        assert_same_as_twin(graph, Twin(everything))


@given(BATCHES, st.randoms(use_true_random=False))
def test_how_transitions_are_parted_into_updates_makes_no_difference(batch, rng):
    at_once, one_by_one = StateGraph(WORDS, INTENTS), StateGraph(WORDS, INTENTS)
    at_once.update(batch)
    singles = [t for t, count in batch.items() for _ in range(count)]
    rng.shuffle(singles)
    for transition in singles:
        one_by_one.update({transition: 1})
    for intent in INTENTS:
        capability = at_once.index[intent]
        for state, node in at_once.nodes.items():
            pairs = node.pairs[capability], one_by_one.nodes[state].pairs[capability]
            counts = [None if pair is None else pair.counts for pair in pairs]
            assert counts[0] == counts[1]


@given(st.lists(BATCHES, max_size=4))
def test_written_out_with_conditions_the_models_predict_the_same(batches):
    graph = StateGraph(WORDS, INTENTS)
    for batch in batches:
        graph.update(batch)
    views = {False: ExtremeModels(graph).pessimistic, True: ExtremeModels(graph).optimistic}
    for optimistic, view in views.items():
        written = written_out(graph, SPACE, optimistic=optimistic)
        assert list(written.capabilities) == list(view.capabilities) == INTENTS
        for state, intent in itertools.product(ALL, INTENTS):
            expected = view.predict(state, intent)
            assert_equal_predictions(written.predict(state, intent), expected)


@given(st.lists(BATCHES, max_size=4))
def test_every_prediction_sums_to_one_or_says_nothing(batches):
    graph = StateGraph(WORDS, INTENTS)
    for batch in batches:
        graph.update(batch)
    for state, intent in itertools.product(ALL, INTENTS):
        tried = graph.pair(state, graph.index[intent]) is not None
        pessimist = ExtremeModels(graph).pessimistic.predict(state, intent)
        assert sum(pessimist.values()) == pytest.approx(1.0 if tried else 0.0)
        assert sum(
            ExtremeModels(graph).optimistic.predict(state, intent).values()
        ) == pytest.approx(1.0)


@settings(max_examples=200)
@given(st.lists(BATCHES, min_size=1, max_size=5))
def test_an_update_says_what_it_taught(batches):
    graph = StateGraph(WORDS, INTENTS)
    everything = Counter()
    for batch in batches:
        before = Twin(everything)
        learned = graph.update(batch)
        everything = everything + Counter(batch)
        after = Twin(everything)
        pairs = {(t.before, t.capability) for t in before.counts}
        assert learned.new_pairs == len({(t.before, t.capability) for t in batch} - pairs)
        assert learned.new_transitions == len(batch.keys() - before.counts.keys())
        assert graph.pairs_tried == len({(t.before, t.capability) for t in after.counts})
        shifts = [0.0]
        for c in range(len(INTENTS)):
            old, new = before.partition(c)[0], after.partition(c)[0]
            for effects in old.keys() & new.keys():
                o, n = old[effects], new[effects]
                shifts += [abs(o[e] / o.total() - n[e] / n.total()) for e in effects]
        assert learned.largest_shift == pytest.approx(max(shifts))


@given(st.lists(BATCHES, max_size=4), st.integers(1, len(INTENTS)))
def test_a_place_knows_what_was_tried_there_and_where_it_led(batches, capabilities):
    graph = StateGraph(WORDS, INTENTS[:capabilities])
    everything = Counter()
    for batch in batches:
        graph.update(known_now(batch, capabilities))
        everything.update(known_now(batch, capabilities))
    graph.extend(INTENTS)
    for state, node in graph.nodes.items():
        outgoing = {t for t in everything if t.before == state}
        assert node.tried == len({t.capability for t in outgoing})
        assert node.leaves is any(t.after != state for t in outgoing)
        everything_tried = node.tried == len(INTENTS)
        assert node.sink is (everything_tried and not node.leaves)
        for c in range(len(INTENTS)):
            pair = graph.pair(state, c)
            ends = {t.after for t in outgoing if t.capability == c}
            assert (pair is None) is (not ends)
            if pair is not None:
                assert {successor.state for successor in pair.successors} == ends
                assert (pair.only is not None) is (len(ends) == 1)
                assert pair.total == sum(everything[Transition(state, c, end)] for end in ends)
    seen = {t.before for t in everything} | {t.after for t in everything}
    assert set(graph.nodes) == seen


@given(BATCHES)
def test_the_rules_of_the_extreme_models_partition_the_states_tried_by_their_effects(batch):
    graph = StateGraph(WORDS, INTENTS)
    graph.update(batch)
    for c, intent in enumerate(INTENTS):
        groups, effects_in = Twin(batch).partition(c)
        rules = extreme_rules(graph, intent)
        assert sorted(s for rule in rules for s in rule.states) == sorted(effects_in)
        assert [rule.executions for rule in rules] == sorted(
            (rule.executions for rule in rules), reverse=True
        )
        for rule in rules:
            key = frozenset(outcome.effect for outcome in rule.outcomes)
            assert {s for s, effects in effects_in.items() if effects == key} == set(rule.states)
            assert {o.effect: o.count for o in rule.outcomes} == groups[key]
            assert sum(outcome.probability for outcome in rule.outcomes) == pytest.approx(1.0)


def test_a_capability_never_executed_is_believed_to_do_as_asked_and_nothing_else():
    graph = StateGraph(WORDS, INTENTS)
    assert ExtremeModels(graph).optimistic.predict(0b0010, INTENTS[1]) == {0b0100: 1.0}
    assert ExtremeModels(graph).pessimistic.predict(0b0010, INTENTS[1]) == {}


def test_the_belief_in_an_untried_capability_ends_with_its_first_execution():
    graph = StateGraph(WORDS, INTENTS)
    graph.update({Transition(0b0000, 0, 0b1000): 1})
    assert ExtremeModels(graph).optimistic.predict(0b0001, INTENTS[0]) == {0b1001: 1.0}


def test_taking_up_a_known_capability_again_changes_nothing():
    graph = StateGraph(WORDS, INTENTS)
    graph.update({Transition(0, 0, 1): 3})
    graph.extend(INTENTS)
    assert graph.capabilities == INTENTS
    assert ExtremeModels(graph).pessimistic.predict(0, INTENTS[0]) == {1: 1.0}


def test_frequencies_are_pooled_over_the_states_that_showed_the_same_effects():
    graph = StateGraph(WORDS, INTENTS)
    graph.update({Transition(0, 0, 0): 1, Transition(0, 0, 1): 3})
    graph.update({Transition(2, 0, 2): 3, Transition(2, 0, 3): 1})
    assert ExtremeModels(graph).pessimistic.predict(0, INTENTS[0]) == {0: 0.5, 1: 0.5}
    assert ExtremeModels(graph).optimistic.predict(4, INTENTS[0]) == {4: 0.5, 5: 0.5}


# The paper's results, on random true models.


@st.composite
def truths(draw):
    """Draw a true model: for each pair of a state and a capability its possible successors."""
    flips = st.sets(st.sampled_from([0b0000, 0b0001, 0b0110, 0b1000]), min_size=1, max_size=3)
    rules = draw(st.lists(flips, min_size=1, max_size=3))
    capabilities = draw(st.integers(1, len(INTENTS)))
    choose = draw(st.randoms(use_true_random=False))
    return {
        (state, c): {state ^ flip for flip in choose.choice(rules)}
        for state in ALL
        for c in range(capabilities)
    }


class Truth:
    """A true model as a capability model; only its support matters for the order."""

    def __init__(self, successors):
        self.successors = successors
        self.capabilities = INTENTS[: 1 + max(c for _, c in successors)]

    def predict(self, state, capability):
        ends = self.successors[state, INTENTS.index(capability)]
        return dict.fromkeys(ends, 1 / len(ends))


def observed(successors, pairs, rng):
    """Execute each pair some times, each time with one of its successors."""
    return Counter(
        Transition(state, c, rng.choice(sorted(successors[state, c])))
        for state, c in pairs
        for _ in range(rng.randrange(1, 4))
    )


def all_of(successors, pairs):
    """Every transition of the pairs: a transition complete dataset."""
    return Counter(Transition(s, c, end) for s, c in pairs for end in successors[s, c])


def learned_from(dataset, capabilities):
    graph = StateGraph(WORDS, capabilities)
    graph.update(dataset)
    return graph


@given(truths(), st.randoms(use_true_random=False))
def test_theorem_3_the_pessimist_is_sound_and_complete_and_the_optimist_complete(successors, rng):
    pairs = rng.sample(sorted(successors), rng.randrange(len(successors) + 1))
    dataset = observed(successors, pairs, rng)
    capabilities = Truth(successors).capabilities
    graph = learned_from(dataset, capabilities)
    for before, (c, intent), after in itertools.product(ALL, enumerate(capabilities), ALL):
        seen = Transition(before, c, after) in dataset
        assert consistent(ExtremeModels(graph).pessimistic, before, intent, after) is seen
        assert consistent(ExtremeModels(graph).optimistic, before, intent, after) or not seen


def effect_complete_pairs(successors, rng):
    """Draw pairs whose transitions show every effect of each capability."""
    pairs, missing = set(), defaultdict(set)
    for (state, c), ends in successors.items():
        missing[c] |= {Effect.between(state, end) for end in ends}
    for state, c in rng.sample(sorted(successors), len(successors)):
        shown = {Effect.between(state, end) for end in successors[state, c]}
        if shown & missing[c] or rng.random() < 0.2:
            pairs.add((state, c))
            missing[c] -= shown
    return pairs


@given(truths(), st.randoms(use_true_random=False))
def test_lemma_1_the_truth_lies_between_when_transitions_and_effects_are_complete(successors, rng):
    truth = Truth(successors)
    dataset = all_of(successors, effect_complete_pairs(successors, rng))
    graph = learned_from(dataset, truth.capabilities)
    assert at_most(ExtremeModels(graph).pessimistic, truth, ALL, truth.capabilities)
    assert at_most(truth, ExtremeModels(graph).optimistic, ALL, truth.capabilities)


@given(truths(), st.randoms(use_true_random=False))
def test_the_optimist_is_the_join_of_the_possibly_sound_models(successors, rng):
    capabilities = Truth(successors).capabilities
    pairs = rng.sample(sorted(successors), rng.randrange(1, len(successors) + 1))
    dataset = observed(successors, pairs, rng)
    graph = learned_from(dataset, capabilities)
    effects = defaultdict(set)
    for before, c, after in dataset:
        effects[c].add(Effect.between(before, after))
    tried = {(t.before, t.capability) for t in dataset}
    for state, (c, intent) in itertools.product(ALL, enumerate(capabilities)):
        if (state, c) not in tried and effects[c]:
            # Effects are judged by what they lead to here, as in the definition of h ⊨ ⟨s, c, s′⟩.
            possible = {effect.apply(state) for effect in effects[c]}
            assert ExtremeModels(graph).optimistic.predict(state, intent).keys() == possible


@given(truths(), st.randoms(use_true_random=False))
def test_theorem_2_the_extremes_meet_when_every_pair_was_observed(successors, rng):
    truth = Truth(successors)
    graph = learned_from(observed(successors, sorted(successors), rng), truth.capabilities)
    assert equivalent(
        ExtremeModels(graph).pessimistic, ExtremeModels(graph).optimistic, ALL, truth.capabilities
    )


@given(truths())
def test_theorem_2_the_extremes_meet_in_the_truth_when_every_transition_was_observed(successors):
    truth = Truth(successors)
    graph = learned_from(all_of(successors, successors), truth.capabilities)
    for model in (ExtremeModels(graph).pessimistic, ExtremeModels(graph).optimistic):
        assert equivalent(model, truth, ALL, truth.capabilities)


@given(truths(), st.randoms(use_true_random=False), st.booleans())
def test_theorem_5_where_the_extremes_meet_no_other_model_fits_the_data(successors, rng, whole):
    truth = Truth(successors)
    pairs = sorted(successors) if whole else effect_complete_pairs(successors, rng)
    dataset = all_of(successors, pairs)
    models = ExtremeModels(learned_from(dataset, truth.capabilities))
    # By the definitions: what a complete model must hold possible, and a possibly sound one may.
    effects, must = defaultdict(set), defaultdict(set)
    for before, c, after in dataset:
        effects[c].add(Effect.between(before, after))
        must[before, c].add(after)
    may = {pair: must[pair] or {e.apply(pair[0]) for e in effects[pair[1]]} for pair in successors}
    meet = equivalent(models.pessimistic, models.optimistic, ALL, truth.capabilities)
    fits_alone = all(may[pair] == must[pair] for pair in successors)
    assert meet is fits_alone
    if meet:
        assert may == dict(successors)


@given(truths(), st.randoms(use_true_random=False))
def test_extremes_that_meet_on_complete_data_have_found_the_truth(successors, rng):
    truth = Truth(successors)
    dataset = all_of(successors, effect_complete_pairs(successors, rng))
    graph = learned_from(dataset, truth.capabilities)
    if equivalent(
        ExtremeModels(graph).pessimistic, ExtremeModels(graph).optimistic, ALL, truth.capabilities
    ):
        assert equivalent(ExtremeModels(graph).pessimistic, truth, ALL, truth.capabilities)


@given(BATCHES)
def test_the_pessimist_is_never_above_the_optimist(batch):
    graph = StateGraph(WORDS, INTENTS)
    graph.update(batch)
    assert at_most(ExtremeModels(graph).pessimistic, ExtremeModels(graph).optimistic, ALL, INTENTS)
    untried = any(graph.pair(s, c) is None for s in ALL for c in range(len(INTENTS)))
    assert (
        equivalent(
            ExtremeModels(graph).pessimistic, ExtremeModels(graph).optimistic, ALL, iter(INTENTS)
        )
        is not untried
    )


def test_the_first_state_is_where_the_first_transition_began():
    graph = StateGraph(WORDS, INTENTS)
    assert graph.first_state is None
    graph.update({Transition(5, 1, 3): 1, Transition(0, 0, 1): 2})
    graph.update({Transition(3, 0, 2): 1})
    assert graph.first_state == 5


def test_a_capability_is_known_by_its_name_in_any_order_of_its_literals():
    graph = StateGraph(WORDS, INTENTS)
    assert graph.resolve_capability("r and not q") == INTENTS[1]
    with pytest.raises(
        CapscopeError, match=r"no capability q\(\) among the 3 that were assessed; near"
    ):
        graph.resolve_capability("q")
