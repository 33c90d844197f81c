"""C declarations as data, for the C that public headers are written in, and back.

A type is one of
  {"name": "uint32_t"}                                   a type by its name; with "const":
                                                         true, const
  {"pointer": TYPE}                                      the same; "const" is the pointer's own
  {"array": TYPE, "length": 3}                           "of": the constant whose value that is,
                                                         where one was named
  {"function": {"returns": TYPE, "parameters": [...]}}   each with "name" and "type"
"""
import re

WORDS = {"void", "bool", "_Bool", "char", "short", "int", "long", "float", "double",
         "signed", "unsigned"}
TAGS = {"struct", "enum", "union"}
# besides what WORDS make
KNOWN = {"size_t", *(f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64))}


def is_known(name):
    """A type of C's own."""
    return name in KNOWN or set(name.split()) <= WORDS


class Reader:
    """One declaration: what follows its specifiers is read from the outside in, and applied from
    the inside out."""

    def __init__(self, text, constants):
        self.text, self.constants = text, constants
        self.pieces = re.findall(r"\w+|[^\w\s]", text) + [""]
        self.at = 0

    def next(self, wanted=None):
        piece = self.pieces[self.at]
        if wanted is not None and piece != wanted:
            raise ValueError(f"{self.text!r}: {wanted!r} expected, not {piece!r}")
        self.at += 1
        return piece

    def peek(self):
        return self.pieces[self.at]

    def specifiers(self):
        words, const = [], False
        while re.match(r"\w", self.peek()):
            if self.peek() == "const":
                const = True
            elif self.peek() in TAGS:
                raise ValueError(f"{self.text!r}: a type without a name of its own")
            elif self.peek() in WORDS or not words:
                words.append(self.peek())
            else:
                break
            self.next()
        if not words:
            raise ValueError(f"{self.text!r}: a type expected, not {self.peek()!r}")
        return {"name": " ".join(words).replace("_Bool", "bool"),
                **({"const": True} if const else {})}

    def declarator(self):
        """(name, function of a type): what a declarator makes of the type before it."""
        if self.peek() == "*":
            self.next()
            const = self.peek() == "const" and bool(self.next())
            name, outer = self.declarator()
            return name, lambda base: outer({"pointer": base, **({"const": True} if const else {})})
        inner = None
        if self.peek() == "(":
            self.next()
            name, inner = self.declarator()
            self.next(")")
        else:
            name = self.next() if re.match(r"\w", self.peek()) else ""
        suffixes = []
        while self.peek() in ("[", "("):
            suffixes.append(self.length() if self.next() == "["
                            else {"parameters": self.parameters()})

        def apply(base):
            for suffix in reversed(suffixes):
                if "parameters" in suffix:
                    base = {"function": {"returns": base, **suffix}}
                else:
                    base = {"array": base, **suffix}
            return inner(base) if inner else base

        return name, apply

    def length(self):
        text = self.next()
        self.next("]")
        if text.isdigit():
            return {"length": int(text)}
        return {"length": self.constants[text], "of": text}

    def parameters(self):
        found = []
        while self.peek() != ")":
            if found:
                self.next(",")
            base = self.specifiers()
            name, apply = self.declarator()
            found.append({"name": name, "type": apply(base)})
        self.next(")")
        return [] if [one["type"] for one in found] == [{"name": "void"}] else found


def read(text, constants):
    """[(name, type)] of a declaration without its semicolon; it may declare several."""
    reader = Reader(text, constants)
    base, found = reader.specifiers(), []
    while True:
        name, apply = reader.declarator()
        found.append((name, apply(base)))
        if reader.peek() != ",":
            reader.next("")
            return found
        reader.next()


def spell(kind, name=""):
    """A declaration in C."""
    if "pointer" in kind:
        to = kind["pointer"]
        star = "*" + ("const" + (" " if name else "") if kind.get("const") else "") + name
        return spell(to, f"({star})" if "array" in to or "function" in to else star)
    if "array" in kind:
        return spell(kind["array"], f"{name}[{kind['length']}]")
    if "function" in kind:
        parameters = ", ".join(spell(one["type"], one["name"])
                               for one in kind["function"]["parameters"])
        return spell(kind["function"]["returns"], f"{name}({parameters or 'void'})")
    text = ("const " if kind.get("const") else "") + kind["name"]
    return text + (" " + name if name else "")


def named(kind):
    """The names of types in a type."""
    if "function" in kind:
        yield from named(kind["function"]["returns"])
        for one in kind["function"]["parameters"]:
            yield from named(one["type"])
    elif "name" in kind:
        yield kind["name"]
    else:
        yield from named(kind.get("pointer") or kind["array"])
