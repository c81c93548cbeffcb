"""What the words in names of columns say: of scores, labels and predictions, and of what is none of these."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Sequence
from functools import cache

# parts of a name say what it is; a label is known by its whole name
WORDS = {
    "score": r"llrs?|p|probs?|probas?|probab\w+|scores?|scored|conf|confidences?|confian\w+|cert|certainty|"
    r"likelihood|logp|logprobs?|wahrscheinlich\w*|logits?|logodds|margin|risk|pred\w*|y?hat|oof|outputs?|softmax|"
    r"sigmoid|raw\w*|resps|estimate|fitted|msp|cats|概率|確率|확률|вероятн\w*",
    "logit": r"logits?|logodds|margin|raw\w*|resps|scores?|pred\w*|outputs?|ll|llrs?|loglik\w*|decision",
    "logarithm": r"log|logs|logp|logprobs?|ll|loglik\w*",
    "percent": r"probs?|probas?|probab\w+|conf|confidences?|pct|percent\w*|certainty|likelihood",
    "confidence": r"conf|confidences?|cert|certainty|sure|msp|correct|right",
    "truth": r"y?(true|truth)(label|class|y|target|text)?|y(test|val|train)|groundtruth\w*|gt|"
    r"gold(label|answer)?|actuals?(label|class)?|human(label|annotation)?|targets?|expected|reference|"
    r"targs?|labelids?|wahrheit",
    "label": r"labels?|class(es)?|y|outcomes?|response|obs|observed|observation|answer\w*|annotation|"
    r"event|category|(class)?label(id|idx|index|name|s)?|indexedlabel|etiqueta|etiquette|etichetta|"
    r"klasse|clase|classe|标签|类别|ラベル|метка|класс",
    "prediction": r"pred\w*|prev\w*|y?hat|guess\w*|argmax|top|index|idx|i|winner|scored|likely|"
    r"decision|decided|assigned|model|llm|ocr|rec|recogni[sz]ed|vorhersage\w*|预测|予測|예측|предсказ\w*",
    "right": r"correct\w*|right|acc|accuracy|match\w*|hits?|em|exact|success|solved|resolved|pass\w*|"
    r"verdict|graded?|ok|tp",
    "text": r"text|word|transcription",
    "derived": r"std|sd|se|stderr|stdev|sigma|var|variance|lo|hi|low|high|lower|upper|lb|ub|ci|q|"
    r"quantile|rank|thr\w*|cutoff|weights?|entropy|uncertain\w*|epistemic|aleatoric|time|latency|"
    r"seconds|folds?|loss|nll|brier|err|error|pvalues?|pvals?",
    "made": r"cal\w*|raw|scaled|old|new|adj\w*|temp\w*|platt|iso\w*|smooth\w*|norm\w*|clip\w*|mean|"
    r"avg|median|max|min|pct|percent|log|logits?|transformed|one|minus|inverse",
    "system": r"models?|method|classifier|fold|run|seed|pass|system|sys|v|version|member|tree|epoch|"
    r"step",
    "class": r"labels?|class|cls",
    "not": r"not|non|no|neg|negative|error|wrong|incorrect|false|0",
    "yes": r"1|true|yes|pos|positive|right",
    "vector": r"embeddings?|embed|features?|hidden|ids|tokens?|mask|pixels?|values|bbox|boxes|"
    r"attention|vector",
}
PATTERNS = {what: re.compile(words) for what, words in WORDS.items()}
PAIRS = (  # what is 0 and what is 1 by custom
    "0 1,-1 1,false true,f t,no yes,n y,neg pos,negative positive,ham spam,benign malignant,fail "
    "pass,failed passed,"
    "incorrect correct,wrong right,mismatch match,i c"
)
CUSTOM = {one: place for pair in PAIRS.split(",") for place, one in enumerate(pair.split())}
CUSTOMARY = frozenset(CUSTOM) | {
    "neutral",
    "entailment",
    "contradiction",
}  # names of classes and of nothing else
GRADES = frozenset(
    ["i", "c", "incorrect", "correct", "wrong", "right"]
)  # words for what is right and nothing else
BETWEEN = re.compile(  # words of a name, not digits of a number
    r"(?<=[^\W\d_])[\s_.\-]+(?=[^\W_])|(?<=[^\W_])[\s_.\-]+(?=[^\W\d_])"
)
PARTS = {"train": "train", "test": "test"} | dict.fromkeys(
    ("val", "valid", "validation", "dev", "eval"), "val"
)
IDENTIFIER = re.compile(
    r"ids?|uids?|uuid|guid|key|question|prompt|item|example|instance|document|doc|article|image|img|sample|case|"
    r"patient|subject|user|customer|client|account|person|session|study|slide|specimen|household|family"
)
PLACE = re.compile(r"index|idx|number|no|nr")  # of a thing, as in row_index


@cache
def tokens(name: str) -> tuple[str, ...]:
    """Return the words and numbers of a name."""
    name = re.sub(r"(?i)log[_ -]odds", "logodds", name)
    name = re.sub(r"(?i)\bp[_ -]?(val(?:ue)?s?)\b", r"p\1", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name))
    return tuple(one.casefold() for one in re.findall(r"[^\W\d_]+|\d+", name))


def says(what: str, name: str) -> bool:
    """Tell whether some word of a name is of this kind."""
    return any(PATTERNS[what].fullmatch(one) for one in tokens(name))


def named(what: str, column: str) -> bool:
    """Tell whether a column, or the last part of its path, is named so, but for words like test."""
    for words in (tokens(column), tokens(re.split(r"\.(?=\w+$)", column)[-1])):
        own = [one for one in words if one not in PARTS]
        if any(PATTERNS[what].fullmatch("".join(some)) for some in (words, own) if some):
            return True
    return False


def alike(one: str, other: str) -> bool:
    """Tell whether two words differ in their ending alone, as churn and churned."""
    common = next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    return one == other or (common >= 5 and common > 0.55 * min(len(one), len(other)))


def plain_text(value: object, missing: Container[str] = ()) -> str:
    """Return a value as text that is equal where it means the same class; "" where it is none or says so."""
    text = str(value).strip().casefold()
    if value is None or text in missing:
        return ""
    text = BETWEEN.sub(" ", unicodedata.normalize("NFC", text))
    return re.sub(r"^(-?\d+)\.0+$", r"\1", text)


def customary(values: Iterable[str]) -> bool:
    """Tell whether all values are 0 or 1 by custom."""
    return all(one in CUSTOM for one in values)


def are_custom(classes: Sequence[str]) -> bool:
    """Tell whether two classes are by custom 0 and 1, in any order."""
    return sorted(CUSTOM.get(plain_text(one), 2) for one in classes) == [0, 1]


def is_identifier(name: str) -> bool:
    """Tell whether a column names cases, as in patient_id or row_index."""
    words = tokens(name)
    if not words or says("system", name) or says("class", name) or says("derived", name):
        return False
    if PLACE.fullmatch(words[-1]):
        words = words[:-1]
        return bool(words) and (words[-1] == "row" or bool(IDENTIFIER.fullmatch(words[-1])))
    return bool(IDENTIFIER.fullmatch(words[-1])) and not says("prediction", " ".join(words[:-1]))
