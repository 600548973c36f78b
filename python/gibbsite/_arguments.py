"""One line in place of what the binding says of arguments that the engine's functions do not take."""

import functools
import re

_WORDS = {
    "int": "a whole number of at least 0",
    "float": "a number",
    "str": "a str",
    "bool": "True or False",
    "os.PathLike": "a path",
}
_TAKEN = {"int": ("int",), "float": ("float", "int"), "str": ("str",), "bool": ("bool",), "None": ("NoneType",)}


def one_line(function):
    """The function, whose TypeErrors of the binding are one line that names the parameter."""

    @functools.wraps(function)
    def run(*args, **named):
        try:
            return function(*args, **named)
        except TypeError as error:
            said = explained(str(error))
            if said is None:
                raise
            raise TypeError(said) from None

    run.__module__ = "gibbsite"  # where it is found by its name
    return run


def one_line_methods(*classes):
    """Makes methods and static functions of the engine's classes say so."""
    for one in classes:
        for name, function in list(vars(one).items()):
            kind = type(function).__name__
            if not name.startswith("_") and kind in ("nb_func", "nb_method"):
                mended = one_line(function)
                setattr(one, name, staticmethod(mended) if kind == "nb_func" else mended)


def explained(error):
    """The line of an error of the binding; None of another error."""
    found = re.match(r"(\w+)\(\): incompatible function arguments\..*?\n\s+1\. \w+\((.*)\) -> [^\n]*\n", error, re.S)
    given = re.search(r"\nInvoked with types: (.*)", error, re.S)
    if found is None or given is None:
        return None
    name = found[1]
    types, named = _given(given[1].strip())
    parameters = _parameters(found[2])
    if parameters and parameters[0][0] == "self":
        parameters, types = parameters[1:], types[1:]
    by_place = [one for one in parameters if not one[3]]
    if len(types) > len(by_place):
        return f"{name}: takes {len(by_place)} arguments without a name, got {len(types)}; name the others"
    known = {one[0]: one for one in parameters}
    for one in named:
        if one not in known:
            return f"{name}: has no parameter {one!r}; it has {', '.join(known)}"
    got = {**dict(zip((one[0] for one in by_place), types)), **named}
    for one, _, is_needed, _ in parameters:
        if is_needed and one not in got:
            return f"{name}: needs {one!r}; give it"
    wrong = [one for one in got if not _is_taken(known[one][1], got[one])]
    wrong = wrong or [one for one in got if "int" in _alternatives(known[one][1]) and got[one] == "int"]
    if not wrong:
        return f"{name}: takes ({found[2]}), got ({', '.join(f'{key}: {kind}' for key, kind in got.items())})"
    one = wrong[0]
    is_whole = got[one] == "int" and "int" in _alternatives(known[one][1])
    shown = "another" if is_whole else got[one].removeprefix("gibbsite._core.")
    return f"{one}: must be {_words(known[one][1])}, got {shown}"


def _split(text):
    """Parts between commas that are in no brackets."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts if part.strip()]


def _given(text):
    """(types by place, {name: type})"""
    before, _, after = text.partition("kwargs = {")
    named = dict(one.split(": ", 1) for one in _split(after.rpartition("}")[0]))
    return _split(before), named


def _parameters(text):
    """[(name, type, whether it must be given, whether by its name alone)]"""
    out, by_name = [], False
    for part in _split(text):
        if part.startswith("*"):
            by_name = True
            continue
        name, _, rest = part.partition(": ")
        kind, is_default, _ = rest.partition(" = ")
        out.append((name, kind, name != "self" and not is_default, by_name))
    return out


def _is_taken(kind, given):
    """Whether a parameter of this type takes an argument of that one, as far as types tell."""
    for one in _alternatives(kind):
        if one == "os.PathLike" and given.endswith("Path"):
            return True
        if one.startswith(("collections.abc.Sequence", "Sequence", "tuple")) and given in ("list", "tuple"):
            return True
        if given in _TAKEN.get(one, ()) or one.rpartition(".")[2] == given.rpartition(".")[2]:
            return True
        if one == "object" or ("[" in one and "Sequence" not in one and not one.startswith("tuple")):
            return True  # arrays and the like, of which the name tells too little
        if one in ("int", "float") and given.startswith("numpy."):
            return True
    return False


def _alternatives(kind):
    parts, depth = [""], 0
    for sign in kind:
        depth += (sign == "[") - (sign == "]")
        if sign == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def _words(kind):
    ones = _alternatives(kind)
    if "os.PathLike" in ones:
        ones.remove("str")
    said = [_word(one) for one in ones]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} or {said[-1]}"


def _word(one):
    if one.startswith(("collections.abc.Sequence[", "Sequence[")):
        inner = one.partition("[")[2].rstrip("]")
        return f"a list of {'numbers' if inner in ('int', 'float') else inner}"
    if one.startswith("gibbsite.") or one[:1].isupper() and one != "None":
        return f"a gibbsite.{one.rpartition('.')[2]}"
    return _WORDS.get(one, one)
