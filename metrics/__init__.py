"""Metrics of hf-fairness as `evaluate` modules; load one with `evaluate.load(hf_fairness.metric_path(name))`.

===================================================  ==================================================================
name                                                 what is asked, of what
===================================================  ==================================================================
seat                                                 which words an encoder places nearer to which
cced                                                 equal distance of the groups' texts to the neutral one; encoder
bias_score                                           how far each word of a text leans to a group; encoder and texts
bias_ir                                              whose version of a document a search puts first; encoder or ranking
crows_pairs, stereoset                               which of two sentences a language model prefers
demographic_parity, equal_opportunity,               rates of different texts of different groups, two or more;
equalized_odds                                       predictions
counterfactual_flip                                  what changes when the same text is flipped; predictions of both
challenge_accuracy                                   HANS, FEVER-Symmetric, Scramble, NLI adversarial; predictions
winomt, must_she                                     whether translations keep the gender of a person
polarity_accuracy                                    whether a rewritten text reads as its group
===================================================  ==================================================================

Each states its interval, sample size, convention, ideal value and direction, and has a card (``README.md`` beside it)
that says when not to trust it. `hf_fairness.show` prints a result; ``compute(..., flat=True)`` gives numbers alone,
under flat names, as ``compute_metrics`` of a Trainer returns them. `hf_fairness.modules` shows one of your own.
"""
