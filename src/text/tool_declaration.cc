#include "text/tool_declaration.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "text/jinja/printing.h"
#include "text/json_access.h"

namespace stoker::text {
namespace {

using Json = nlohmann::json;  // keeps its keys sorted

constexpr std::string_view kIndent = "  ";

// A schema that the form cannot express. Caught in this file.
struct Inexpressible {};

// As Python's json.dumps, whose separators the model knows.
std::string Dumps(const Json& value, bool ensure_ascii) {
  if (value.is_array() || value.is_object()) {
    std::string out;
    for (const auto& [key, item] : value.items()) {
      if (!out.empty()) out += ", ";
      if (value.is_object()) out += Json(key).dump(-1, ' ', ensure_ascii) + ": ";
      out += Dumps(item, ensure_ascii);
    }
    return value.is_array() ? "[" + out + "]" : "{" + out + "}";
  }
  if (value.is_number_float()) return jinja::FloatRepr(value.get<double>());
  return value.dump(-1, ' ', ensure_ascii);
}

// Each line as a comment; empty lines stay empty.
std::string Comment(std::string_view text, std::string_view indent) {
  std::string out;
  while (true) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (!line.empty()) out += fmt::format("{}// {}", indent, line);
    out += '\n';
    if (line.size() == text.size()) return out;
    text.remove_prefix(line.size() + 1);
  }
}

std::string TextOf(const Json& schema, std::string_view key) {
  return std::string(StringMember(schema, key).value_or(""));
}

// What Python's format would print of a constraint's value.
std::string Plain(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  return value.is_null() ? "None" : Dumps(value, false);
}

class FunctionWriter {
 public:
  std::string Write(const Json& function) {
    static const Json& none = *new Json(Json::object());
    const auto found = function.find("parameters");
    const bool has_parameters = found != function.end() && found->is_object();
    const Json& parameters = has_parameters ? *found : none;
    RegisterDefinitions(parameters);
    const std::string type = ObjectType(parameters, "");
    std::string out;
    if (refers_to_root_) {
      const std::string fields = Fields(parameters, kIndent, true);
      out += "interface parameters {" + (fields.empty() ? "" : "\n" + fields + "\n") + "}\n";
    }
    for (std::size_t i = 0; i < definition_order_.size(); ++i) {  // may grow on the way
      const std::string name = definition_order_[i];
      const Json& schema = *definitions_.at(name);
      const std::string body = Type(schema, "");
      if (schema.is_object() && !TextOf(schema, "description").empty()) {
        out += Comment(TextOf(schema, "description"), "");
      }
      out += fmt::format("interface {} {}\n", name, body);
    }
    const std::string description = TextOf(function, "description");
    if (!description.empty()) out += Comment(description, "");
    const std::string name = function.contains("name") ? TextOf(function, "name") : "function";
    return out +
           fmt::format("type {} = (_: {}) => any;", name, refers_to_root_ ? "parameters" : type);
  }

 private:
  void RegisterDefinitions(const Json& schema) {
    const auto found = schema.find("$defs");
    if (found == schema.end() || !found->is_object()) return;
    for (const auto& [name, definition] : found->items()) {
      if (definitions_.insert_or_assign(name, &definition).second)
        definition_order_.push_back(name);
    }
  }

  std::string Reference(const std::string& path) {
    constexpr std::string_view kPrefix = "#/$defs/";
    if (path == "#") {
      refers_to_root_ = true;
      return "parameters";
    }
    if (!path.starts_with(kPrefix)) throw Inexpressible{};
    std::string name = path.substr(path.rfind('/') + 1);
    if (!definitions_.contains(name)) throw Inexpressible{};
    return name;
  }

  std::string Type(const Json& schema, std::string_view indent) {
    if (schema.is_boolean()) return schema.get<bool>() ? "any" : "null";
    if (!schema.is_object()) throw Inexpressible{};
    if (schema.contains("$ref")) return Reference(TextOf(schema, "$ref"));
    if (schema.contains("anyOf")) return Alternatives(schema["anyOf"], indent);
    if (schema.contains("enum")) return Enumeration(schema["enum"]);
    if (!schema.contains("type")) {
      if (schema.empty()) return "any";
      throw Inexpressible{};
    }
    const Json& type = schema["type"];
    if (type.is_array()) return Union(type);
    if (type == "object") return ObjectType(schema, indent);
    if (type == "array") return ArrayType(schema, indent);
    if (type == "integer") return "number";
    if (!type.is_string()) throw Inexpressible{};
    return type.get<std::string>();
  }

  std::string Alternatives(const Json& types, std::string_view indent) {
    if (!types.is_array()) throw Inexpressible{};
    std::string out;
    for (const Json& type : types) out += (out.empty() ? "" : " | ") + Type(type, indent);
    return out;
  }

  static std::string Enumeration(const Json& values) {
    if (!values.is_array()) throw Inexpressible{};
    std::string out;
    for (const Json& value : values) {
      if (!out.empty()) out += " | ";
      out += value.is_string() ? "\"" + value.get<std::string>() + "\"" : Dumps(value, true);
    }
    return out;
  }

  static std::string Union(const Json& types) {
    static const auto& names = *new std::map<std::string, std::string>{
        {"string", "string"}, {"number", "number"}, {"integer", "number"},  {"boolean", "boolean"},
        {"null", "null"},     {"object", "{}"},     {"array", "Array<any>"}};
    std::string out;
    for (const Json& type : types) {
      const auto found = type.is_string() ? names.find(type.get<std::string>()) : names.end();
      if (found == names.end()) throw Inexpressible{};
      out += (out.empty() ? "" : " | ") + found->second;
    }
    return out;
  }

  std::string ArrayType(const Json& schema, std::string_view indent) {
    const auto items = schema.find("items");
    const bool has_items = items != schema.end() && !items->is_null() && *items != false &&
                           !(items->is_object() && items->empty());
    if (!has_items) return "Array<any>";
    const std::string inner = std::string(indent) + std::string(kIndent);
    const std::string comments = Docstring(*items, inner);
    if (comments.empty()) return "Array<" + Type(*items, indent) + ">";
    return fmt::format("Array<\n{}{}{}\n{}>", comments, inner, Type(*items, inner), indent);
  }

  std::string ObjectType(const Json& schema, std::string_view indent) {
    RegisterDefinitions(schema);
    const std::string fields = Fields(schema, std::string(indent) + std::string(kIndent), false);
    return fields.empty() ? "{}" : fmt::format("{{\n{}\n{}}}", fields, indent);
  }

  // The required properties and then the optional ones, each by name. The root's own interface
  // has all by name, and does not say what else it takes.
  std::string Fields(const Json& schema, std::string_view indent, bool of_root_interface) {
    const auto found = schema.find("properties");
    const auto required = schema.find("required");
    const auto is_required = [&](const std::string& name) {
      return required != schema.end() && required->is_array() &&
             std::find(required->begin(), required->end(), name) != required->end();
    };
    std::vector<std::string> fields;
    if (found != schema.end()) {
      if (!found->is_object()) throw Inexpressible{};
      for (const bool wanted : {true, false}) {
        for (const auto& [name, property] : found->items()) {
          const bool optional = !is_required(name);
          if (of_root_interface ? !wanted : optional == wanted) continue;
          fields.push_back(Field(name, property, optional, indent));
        }
      }
    }
    const auto additional = schema.find("additionalProperties");
    if (!of_root_interface && additional != schema.end() && !additional->is_null()) {
      const std::string type = additional->is_boolean() ? (*additional == true ? "any" : "never")
                                                        : Type(*additional, indent);
      fields.push_back(fmt::format("{}[k: string]: {}", indent, type));
    }
    return fmt::format("{}", fmt::join(fields, ",\n"));
  }

  std::string Field(const std::string& name, const Json& schema, bool optional,
                    std::string_view indent) {
    std::string out = Docstring(schema, indent);
    if (schema.is_object() && schema.contains("default") && !schema["default"].is_null()) {
      out += fmt::format("{}// Default: {}\n", indent, Dumps(schema["default"], false));
    }
    return out + fmt::format("{}{}{}: {}", indent, name, optional ? "?" : "", Type(schema, indent));
  }

  // The comments before a type: its description and what limits its values.
  static std::string Docstring(const Json& schema, std::string_view indent) {
    if (!schema.is_object()) return "";
    std::string out;
    const std::string description = TextOf(schema, "description");
    if (!description.empty()) out += Comment(description, indent);
    std::string constraints;
    for (const std::string& key : ConstraintsOf(schema)) {
      if (!schema.contains(key)) continue;
      constraints += (constraints.empty() ? "" : ", ") + key + ": " + Plain(schema[key]);
    }
    if (!constraints.empty()) out += fmt::format("{}// {}\n", indent, constraints);
    return out;
  }

  static std::vector<std::string> ConstraintsOf(const Json& schema) {
    const bool is_plain_type =
        !schema.contains("$ref") && !schema.contains("anyOf") && !schema.contains("enum");
    const std::string type = is_plain_type ? TextOf(schema, "type") : "";
    if (type == "string") return {"maxLength", "minLength", "pattern"};
    if (type == "number" || type == "integer") return {"maximum", "minimum"};
    if (type == "array") return {"maxItems", "minItems"};
    return {};
  }

  std::map<std::string, const Json*> definitions_;
  std::vector<std::string> definition_order_;
  bool refers_to_root_ = false;
};

}  // namespace

std::optional<std::string> ToolsAsTypeScript(const nlohmann::ordered_json& tools) {
  if (!tools.is_array()) return "";
  std::string functions;
  try {
    for (const nlohmann::ordered_json& tool : tools) {
      const Json sorted = tool;
      if (!sorted.is_object()) return std::nullopt;
      if (sorted.contains("type") && sorted["type"] != "function") continue;
      const bool is_wrapped = sorted.contains("function") && sorted["function"].is_object();
      const Json& function = is_wrapped ? sorted["function"] : sorted;
      if (!function.empty()) functions += FunctionWriter().Write(function) + "\n";
    }
  } catch (const Inexpressible&) {
    return std::nullopt;
  }
  if (functions.empty()) return "";
  return "# Tools\n\n## functions\nnamespace functions {\n" + functions + "}\n";
}

}  // namespace stoker::text
