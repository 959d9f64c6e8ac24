"""Words by which hospitals say lesion or normal."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

# Words that say no more than yes or no, and so are no finding either.
YES = {"1", "1.0", "yes", "y", "ja", "j", "true", "wahr", "t", "x", "pos", "positive", "positiv", "+", "lesion"}
YES |= {"laesion", "läsion", "lesions", "abnormal", "pathological", "pathologisch", "auffällig", "disease", "vorhanden"}
NO = {"0", "0.0", "no", "n", "nein", "false", "falsch", "f", "neg", "negative", "negativ", "-", "normal", "normals"}
NO |= {"healthy", "gesund", "unauffällig", "ohne befund", "o.b.", "ob", "o. b.", "none", "kein", "keine", "kein befund"}
NO |= {"no finding", "no lesion", "keine läsion", "nicht vorhanden", "clean"}


def same_word(text: str) -> str:
    """What two spellings of one word share: capitals, spaces at the ends and composed letters do not count."""
    return unicodedata.normalize("NFC", text).strip().casefold()


@dataclass
class TagWords:
    """`lesion` and `normal`: words that the user named.  Words that mean neither are counted in `unknown`."""

    lesion: frozenset[str] = frozenset()
    normal: frozenset[str] = frozenset()
    unknown: Counter[str] = field(default_factory=Counter)

    def tag(self, cell: str) -> str:
        """lesion, normal, or '' where the cell is empty or says neither."""
        word = same_word(cell)
        words = {word, *(same_word(part) for mark in "+,/;" for part in word.split(mark))}
        if words & self.lesion:
            return "lesion"
        if words & self.normal:
            return "normal"
        if word in YES | NO:
            return "lesion" if word in YES else "normal"
        if word:
            self.unknown[cell.strip()] += 1
        return ""

    def guesses(self) -> list[str]:
        """One sentence about the words that mean neither."""
        if not self.unknown:
            return []
        shown = ", ".join(f"'{word}' ({count})" for word, count in self.unknown.most_common(5))
        more = f" and {len(self.unknown) - 5} more" if len(self.unknown) > 5 else ""
        hint = "say what they mean with --lesion and --normal, several words separated by commas"
        return [f"no tag could be made of the words {shown}{more}: these images stay untagged; {hint}"]


def tag_words(lesion: str, normal: str) -> TagWords:
    """From options: words separated by commas."""
    return TagWords(frozenset(_words(lesion)), frozenset(_words(normal)))


def finding_of(cell: str) -> str:
    """The cell as a finding, where it says more than yes or no."""
    return "" if same_word(cell) in YES | NO else cell.strip()


def _words(option: str) -> Sequence[str]:
    return [same_word(word) for word in option.split(",") if word.strip()]
