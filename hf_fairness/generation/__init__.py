"""Variants of texts written by a language model, checked by polarity, with a prompt that is searched for.

Nothing heavy is imported before a model is asked.
"""

from hf_fairness.generation.chat import ChatClient, Completion
from hf_fairness.generation.clients import FunctionClient
from hf_fairness.generation.config import LLMConfig
from hf_fairness.generation.corrections import CorrectionFile, terminal_corrections
from hf_fairness.generation.hub import HubClient
from hf_fairness.generation.local import LocalClient
from hf_fairness.generation.politeness import ChatError
from hf_fairness.generation.prompts import Example, Prompt
from hf_fairness.generation.rewriter import LLMGroupVariants, Rewriter, rewrite
from hf_fairness.generation.search import SearchResult, search_prompt
from hf_fairness.generation.stored import stored_variants
from hf_fairness.generation.usage import Usage

__all__ = [
    "ChatClient",
    "ChatError",
    "Completion",
    "CorrectionFile",
    "Example",
    "FunctionClient",
    "HubClient",
    "LLMConfig",
    "LLMGroupVariants",
    "LocalClient",
    "Prompt",
    "Rewriter",
    "SearchResult",
    "Usage",
    "rewrite",
    "search_prompt",
    "stored_variants",
    "terminal_corrections",
]
