"""What may be believed: the state graph, rules, and the pessimistic and the optimistic model."""

from capscope.model.doubt import LearnedPrediction, Provenance, Support
from capscope.model.extreme_models import CapabilityModel, ExtremeModels, Prediction
from capscope.model.learned_model import LearnedModel, ModelCoverage
from capscope.model.state_graph import Learned, OutcomeGroup, PairStats, StateGraph, StateNode

__all__ = [
    "CapabilityModel",
    "ExtremeModels",
    "Learned",
    "LearnedModel",
    "LearnedPrediction",
    "ModelCoverage",
    "OutcomeGroup",
    "PairStats",
    "Prediction",
    "Provenance",
    "StateGraph",
    "StateNode",
    "Support",
]
