"""A robot that does what a language model finds useful and its own perception finds feasible."""

from capscope_worlds.saycan.agent import (
    DONE,
    SayCanAgent,
    SayCanAttempt,
    SayCanSettings,
    Scoring,
    SkillChooser,
    SkillObservation,
)
from capscope_worlds.saycan.language import LanguageChooser, SkillExample, SkillGuide, SkillQuestion
from capscope_worlds.saycan.tabletop import TABLETOP_GUIDE, TabletopScript, instruction

__all__ = [
    "DONE",
    "TABLETOP_GUIDE",
    "LanguageChooser",
    "SayCanAgent",
    "SayCanAttempt",
    "SayCanSettings",
    "Scoring",
    "SkillChooser",
    "SkillExample",
    "SkillGuide",
    "SkillObservation",
    "SkillQuestion",
    "TabletopScript",
    "instruction",
]
