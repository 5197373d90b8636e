"""Writes the rules of parsers/diagnosis/rules.json that classify an error, as a table of C++.

Only its text is known of an error that is classified: rules for frames, for statements, for sandboxes or
for tests that ended otherwise than by an exception are left out, and so is what stands after the last rule
with a class. The order of the file is kept, since the first rule that matches decides.

The rules are written for RE2, which a machine that builds the shim may lack. The standard library's
regular expressions (ECMAScript) have no flags inside an expression and other words for its ends.
"""

import json
import re
import sys

ENDS = {r"\A": "^", r"\z": "$"}


def either_case(character):
    return f"[{character.lower()}{character.upper()}]" if character.isalpha() else character


def class_of_either_case(text):
    """A bracket expression that ignores case: [a-f_] is [a-fA-F_]."""
    swapped = re.findall(r"(?<!\\)[A-Za-z]-[A-Za-z]|(?<![\\A-Za-z-])[A-Za-z](?!-)", text)
    return text + "".join(part.swapcase() for part in swapped)


def ecmascript(pattern):
    """The same expression in the grammar of std::regex. Its groups capture nothing."""
    out, at, ignore, outer = [], 0, False, []
    while at < len(pattern):
        rest = pattern[at:]
        if rest[0] == "\\":
            out.append(ENDS.get(rest[:2], rest[:2]))
            at += 2
        elif rest[0] == "[":
            (bracket,) = re.match(r"\[\^?\]?((?:\\.|\[:\w+:\]|[^\]\\])*)\]", rest, re.S).span()[1:]
            inside = rest[1 : bracket - 1]
            out.append("[" + (class_of_either_case(inside) if ignore else inside) + "]")
            at += bracket
        elif rest[0] == "(":
            flags = re.match(r"\(\?(i?)(:|\))", rest)
            if rest.startswith("(?") and not flags:
                raise ValueError(f"{rest[:8]}: this group has no translation")
            if flags and flags[2] == ")":  # (?i): to the end of the group
                ignore = True
            else:
                outer.append(ignore)
                ignore = ignore or bool(flags and flags[1])
                out.append("(?:")
            at += flags.end() if flags else 1
        elif rest[0] == ")":
            ignore = outer.pop()
            out.append(")")
            at += 1
        else:
            out.append(either_case(rest[0]) if ignore else rest[0])
            at += 1
    return "".join(out)


def decides(rule):
    if "at" in rule or "statement" in rule or "isolation" in rule or "text" not in rule:
        return False
    return "errored" in rule.get("states", ["errored"])


def main(source, target):
    with open(source, encoding="utf-8") as file:
        lines = [line for line in file if not line.lstrip().startswith("//")]
    rules = [rule for rule in json.loads("".join(lines))["rules"] if decides(rule)]
    while rules and "class" not in rules[-1]:
        rules.pop()
    rows = []
    for rule in rules:
        try:
            pattern = ecmascript(rule["text"])
        except (ValueError, AttributeError, TypeError) as error:
            raise SystemExit(f"{source}: rule {rule['id']}: {error}") from error
        name = "ErrorClass::" + rule["class"] if "class" in rule else "{}"
        short = "true" if rule.get("short") else "false"
        rows.append(f'    {{"{rule["id"]}", {name}, {short},\n     R"~~({pattern})~~"}},\n')
    with open(target, "w", encoding="utf-8") as file:
        file.write("// Made by error_rules.py from parsers/diagnosis/rules.json.\n")
        file.write('#include "devices/error_rules.h"\n\nnamespace compat::devices {\n\n')
        file.write(f"static constexpr std::array<ErrorRule, {len(rows)}> kRules{{{{\n{''.join(rows)}}}}};\n\n")
        file.write("std::span<const ErrorRule> error_rules() { return kRules; }\n\n}  // namespace compat::devices\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
