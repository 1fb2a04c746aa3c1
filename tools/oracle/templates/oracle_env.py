"""jinja2 as Hugging Face transformers sets it up for chat templates."""

import datetime
import functools
import json

import jinja2
import jinja2.ext
import jinja2.sandbox


class GenerationTag(jinja2.ext.Extension):
    """{% generation %}: marks what the assistant said; changes nothing in the output."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("render"), [], [], body).set_lineno(line)

    def render(self, caller):
        return caller()


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def make_environment(now: datetime.datetime) -> jinja2.Environment:
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True,
        extensions=[GenerationTag, jinja2.ext.loopcontrols])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = now.strftime
    return environment


NOW = datetime.datetime(2026, 3, 7, 9, 5, 2)


@functools.lru_cache(maxsize=8)
def compiled(template: str) -> jinja2.Template:
    return make_environment(NOW).from_string(template)


def render(template: str, context: dict) -> dict:
    """{"output": text}, or {"error": message} whatever went wrong."""
    try:
        return {"output": compiled(template).render(**context)}
    except Exception as error:  # a template can raise anything that Python can
        return {"error": f"{type(error).__name__}: {error}"}
