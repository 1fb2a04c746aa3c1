#pragma once

#include <string_view>

namespace stoker::text {

/// Kimi's chat layout in Jinja, written from its description (llama.cpp's and tinker-cookbook's
/// renderers, both tested against the published templates). Besides what every template gets it
/// reads: `layout` (k2, k2-thinking or k25), `tools_ts_str`.
inline constexpr std::string_view kKimiLayout = R"jinja(
{%- set thinks = layout != 'k2' -%}
{%- set keep_all = layout == 'k25' and preserve_thinking | default(false) -%}
{%- set instant = layout == 'k25' and thinking is defined and thinking is false -%}

{%- macro text(message) -%}
  {%- if message.content is string -%}
    {{ message.content }}
  {%- else -%}
    {%- for part in message.content or [] -%}{{ part.text }}{%- endfor -%}
  {%- endif -%}
{%- endmacro -%}

{%- macro calls(message) -%}
  {%- if message.tool_calls -%}
    <|tool_calls_section_begin|>
    {%- for call in message.tool_calls -%}
      <|tool_call_begin|>{{ call.id }}<|tool_call_argument_begin|>{{ call.function.arguments }}<|tool_call_end|>
    {%- endfor -%}
    <|tool_calls_section_end|>
  {%- endif -%}
{%- endmacro -%}

{#- Reasoning is dropped up to the last answer: only an unfinished chain of calls needs it. -#}
{%- set answered = namespace(until=-1) -%}
{%- for message in messages -%}
  {%- if message.role == 'assistant' and not message.tool_calls -%}
    {%- set answered.until = loop.index0 -%}
  {%- endif -%}
{%- endfor -%}
{%- if keep_all -%}{%- set answered.until = -1 -%}{%- endif -%}

{%- if tools -%}
  <|im_system|>tool_declare<|im_middle|>
  {{- tools_ts_str or tools | tojson(separators=(',', ':')) -}}
  <|im_end|>
{%- endif -%}
{#- K2's own template leaves a newline here and says nothing without messages. -#}
{%- if layout != 'k25' and (layout != 'k2' if not messages else messages[0].role != 'system') -%}
  <|im_system|>system<|im_middle|>You are Kimi, an AI assistant created by Moonshot AI.<|im_end|>
  {%- if layout == 'k2' -%}{{ '\n' }}{%- endif -%}
{%- endif -%}

{%- for message in messages -%}
  {%- if message.role == 'user' -%}
    <|im_user|>
  {%- elif message.role == 'assistant' -%}
    <|im_assistant|>
  {%- else -%}
    <|im_system|>
  {%- endif -%}
  {{- message.name or message.role -}}
  <|im_middle|>
  {%- if message.role == 'assistant' and thinks -%}
    <think>
    {%- if loop.index0 > answered.until and (not instant or keep_all) -%}
      {{- message.reasoning_content or '' -}}
    {%- endif -%}
    </think>
  {%- elif message.role == 'tool' -%}
    ## Return of {{ message.tool_call_id }}{{ '\n' }}
  {%- endif -%}
  {{- text(message) -}}
  {%- if message.role == 'assistant' -%}{{ calls(message) }}{%- endif -%}
  <|im_end|>
{%- endfor -%}

{%- if add_generation_prompt -%}
  <|im_assistant|>assistant<|im_middle|>
  {%- if layout == 'k25' -%}
    <think>
    {%- if instant -%}</think>{%- endif -%}
  {%- endif -%}
{%- endif -%}
)jinja";

}  // namespace stoker::text
