"""What was learned about a small instance, in larger ones of which the truth is known."""

import random

import pytest

from capscope.model import LearnedModel, StateGraph
from support.answer_tables import Mailbox

DELETES_ANOTHER = 0.3


def in_use(mails, executions, seed):
    """Yield random requests in sequences of ten: the state before, the request, and after."""
    rng, intents, state = random.Random(seed), mails.intents(), mails.start
    for execution in range(executions):
        state = mails.start if execution % 10 == 0 else state
        number = rng.randrange(len(intents))
        ends = mails.outcomes(state, intents[number])
        (after,) = rng.choices(list(ends), list(ends.values()))
        yield state, number, after
        state = after


def graph_of(mails, executions, seed):
    """Return the graph of random requests in use."""
    graph = StateGraph(mails.vocabulary, mails.intents())
    for row in in_use(mails, executions, seed):
        graph.update({row: 1})
    return graph


@pytest.fixture(scope="module", params=[DELETES_ANOTHER, 0.0], ids=["careless", "careful"])
def mailboxes(request):
    """Return a large mailbox, and the model of a small one carried over to it."""
    small, large = (Mailbox(number, request.param) for number in (5, 10))
    return large, LearnedModel.fitted(graph_of(small, 250, 0)).transfer(large.vocabulary)


def test_states_asked_about_one_after_the_other_are_predicted_as_they_are(mailboxes):
    # Most were imagined when others were asked about, but not what they lead to.
    large, model = mailboxes
    for state, number, _ in in_use(large, 300, 1):
        intent = large.intents()[number]
        predicted, expected = model.predict(state, intent), large.outcomes(state, intent)
        # With few mails it may not be known that the one that was named is never lost.
        assert expected.keys() <= predicted.keys()
        assert len(predicted) <= len(expected) + (len(expected) > 1)


def test_one_of_the_other_mails_is_one_choice_among_more_mails(mailboxes):
    large, model = mailboxes
    expected = max(large.outcomes(large.start, large.intents()[0]).values())
    assert [part.choice for part in model.parts] == [True] * (expected < 1.0)
    for intent in large.intents()[:10]:
        assert max(model.predict(0, intent).values()) == pytest.approx(expected, abs=0.1)


def test_what_happened_there_counts_beside_what_happens_here(mailboxes):
    large, model = mailboxes
    before = [sum(rate.draws for rate in part.rates) for part in model.parts]
    model.follow(graph_of(large, 100, 2))
    for part, draws in zip(model.parts, before, strict=True):
        assert sum(rate.draws for rate in part.rates) > draws
        assert 0 < part.occurrences < sum(rate.hits for rate in part.rates)
