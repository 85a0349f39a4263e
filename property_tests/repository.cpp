// The repository about itself: who includes whom, and whether what prose names exists.

#include "property_tests/places.h"
#include "spec/laws.h"
#include "spec/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace slotproof {
namespace {

namespace fs = std::filesystem;
const fs::path kRoot = source_dir();

// Files under version control's eye: the folders of the house and the pages beside them, without what a build leaves.
std::vector<fs::path> files_with(const std::set<std::string>& extensions) {
  std::vector<fs::path> files;
  for (auto it = fs::recursive_directory_iterator(kRoot); it != fs::recursive_directory_iterator(); ++it) {
    const std::string name = it->path().filename();
    const bool is_ours = name == ".github" || name == ".ci";
    if (it->is_directory() && (name == "build" || name == "findings" || (name.starts_with(".") && !is_ours))) {
      it.disable_recursion_pending();
    } else if (it->is_regular_file() && extensions.contains(it->path().extension())) {
      files.push_back(fs::relative(it->path(), kRoot));
    }
  }
  EXPECT_FALSE(files.empty());
  return files;
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream stream(kRoot / file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

const std::set<std::string> kSources = {".h", ".cpp", ".cu", ".cuh", ".c"};

// The folder of ours that an include reaches into: "spec", "reference", "kernels", ...; empty for anything else.
std::string folder_included_by(const std::string& line) {
  static const std::regex quoted(R"(^\s*#\s*include\s*"([a-z_]+)/)"), public_header(R"(^\s*#\s*include\s*[<"]slotproof/)");
  std::smatch match;
  if (std::regex_search(line, match, quoted)) return match[1];
  return std::regex_search(line, public_header) ? "kernels" : "";
}

TEST(Repository, NobodyIncludesWhomTheyMustNotKnow) {
  // "May be used by" of design: the spec knows nobody, reference and kernels never each other, nobody the tests.
  const std::map<std::string, std::set<std::string>> may_include = {{"spec", {"spec"}}, {"reference", {"reference", "spec"}}, {"kernels", {"kernels"}}};
  for (const fs::path& file : files_with(kSources)) {
    const auto rule = may_include.find(*file.begin());
    if (rule == may_include.end()) continue;
    for (const std::string& line : lines_of(file)) {
      const std::string folder = folder_included_by(line);
      EXPECT_TRUE(folder.empty() || rule->second.contains(folder)) << file << ": " << line;
    }
  }
}

TEST(Repository, TheReferenceKnowsOfTheSpecOnlyItsTypesAndRuleIds) {
  for (const fs::path& file : files_with(kSources)) {
    if (*file.begin() != "reference") continue;
    for (const std::string& line : lines_of(file)) {
      if (folder_included_by(line) != "spec") continue;
      EXPECT_TRUE(line.ends_with("\"spec/problem.h\"") || line.ends_with("\"spec/rules.h\"")) << file << ": " << line;
    }
  }
}

TEST(Repository, TheSpecDependsOnEigenAlone) {
  static const std::regex include(R"(^\s*#\s*include\s*<([^>]+)>)");
  for (const fs::path& file : files_with(kSources)) {
    if (*file.begin() != "spec") continue;
    for (const std::string& line : lines_of(file)) {
      std::smatch match;
      if (!std::regex_search(line, match, include)) continue;
      const std::string header = match[1];
      EXPECT_TRUE(header.starts_with("Eigen/") || header.find_first_of("./") == std::string::npos) << file << ": " << line;
    }
  }
}

TEST(Repository, TheReferenceIsShortEnoughToRead) {
  size_t num_lines = 0;
  for (const fs::path& file : files_with({".h", ".cpp", ".txt"})) {
    if (*file.begin() == "reference") num_lines += lines_of(file).size();
  }
  EXPECT_GT(num_lines, 100u);
  EXPECT_LE(num_lines, 400u);
}

TEST(Repository, StemsStandInAllFourFolders) {
  for (const char* stem : {"remap", "flat_row_view", "rank_ownership", "tiling", "diagnosis"}) {
    for (const char* folder : {"spec", "reference", "kernels", "property_tests"}) {
      const fs::path base = kRoot / folder / stem;
      EXPECT_TRUE(fs::exists(base.string() + ".h") || fs::exists(base.string() + ".cpp")) << folder << "/" << stem;
    }
  }
}

// A case of a public report, as docs/corners.md cites it.
bool is_report(const std::string& id) {
  static const std::string reports = [] {
    std::string text;
    for (const std::string& line : lines_of("property_tests/vectors/public-reports.json")) text += line;
    return text;
  }();
  return reports.find("\"" + id + "\"") != std::string::npos;
}

bool is_known_id(const std::string& id) {
  static const std::regex divergence("D([1-9]|1[0-8])");  // semantics, "Where upstream disagrees with itself"
  if (is_report(id)) return true;
  return spec::rule_of(id).has_value() || spec::law_of(id).has_value() || std::regex_match(id, divergence);
}

void expect_known_ids(const fs::path& file, const std::string& text) {
  static const std::regex id(R"(\b(R\d+u?|VA?\d+|P\d+|A\d+|D\d+|G\d+|M\d+)\b)");
  for (auto match = std::sregex_iterator(text.begin(), text.end(), id); match != std::sregex_iterator(); ++match) {
    EXPECT_TRUE(is_known_id(match->str(1))) << file << " names " << match->str(1) << ": " << text;
  }
}

TEST(Repository, EveryRuleThatProseNamesExists) {
  for (const fs::path& file : files_with({".md"})) {
    if (file.parent_path() == "docs/results") continue;  // Devices have names that look like ids.
    for (const std::string& line : lines_of(file)) expect_known_ids(file, line);
  }
  for (const fs::path& file : files_with(kSources)) {
    for (const std::string& line : lines_of(file)) {
      if (const size_t comment = line.find("//"); comment != std::string::npos) expect_known_ids(file, line.substr(comment));
    }
  }
}

// A path as prose has it: a file, a folder, or a stem such as spec/remap.
bool exists(const std::string& path) {
  if (fs::exists(kRoot / path)) return true;
  const fs::path folder = (kRoot / path).parent_path(), stem = fs::path(path).filename();
  if (!fs::is_directory(folder)) return false;
  return std::any_of(fs::directory_iterator(folder), fs::directory_iterator(), [&](const auto& entry) { return entry.path().stem() == stem; });
}

TEST(Repository, EveryPathThatProseNamesExists) {
  std::set<std::string> roots;
  for (const auto& entry : fs::directory_iterator(kRoot)) roots.insert(entry.path().filename());
  static const std::regex quoted(R"(`([A-Za-z0-9_.\-]+(?:/[A-Za-z0-9_.\-]+)*/?)`)"), link(R"re(\]\(([^)#:]+)(?:#[^)]*)?\)|(?:src|srcset)="([^"#:]+)")re"),
      file_name(R"([A-Za-z0-9_\-]+\.(md|h|cpp|cu|cuh|json|py|sh|txt))");
  for (const fs::path& file : files_with({".md"})) {
    for (const std::string& line : lines_of(file)) {
      for (auto match = std::sregex_iterator(line.begin(), line.end(), link); match != std::sregex_iterator(); ++match) {
        const std::string target = match->str(1) + match->str(2);  // of a link, or of a picture
        EXPECT_TRUE(fs::exists(kRoot / file.parent_path() / target)) << file << " links " << target;
      }
      for (auto match = std::sregex_iterator(line.begin(), line.end(), quoted); match != std::sregex_iterator(); ++match) {
        const std::string path = match->str(1), first = path.substr(0, path.find('/'));
        if (first == "build" || first == "findings") continue;  // made by a build or a run
        if (path.find('/') != std::string::npos && roots.contains(first)) {
          EXPECT_TRUE(exists(path)) << file << " names " << path;
        } else if (std::regex_match(path, file_name)) {
          EXPECT_TRUE(fs::exists(kRoot / path) || fs::exists(kRoot / file.parent_path() / path)) << file << " names " << path;
        }
      }
    }
  }
}

TEST(Repository, EveryVerbThatProseNamesExists) {
  std::string script;
  for (const std::string& line : lines_of("dev")) script += line + "\n";
  static const std::regex call(R"(\./dev ([a-z]+))");
  for (const fs::path& file : files_with({".md", ".yml"})) {
    for (const std::string& line : lines_of(file)) {
      for (auto match = std::sregex_iterator(line.begin(), line.end(), call); match != std::sregex_iterator(); ++match) {
        EXPECT_NE(script.find("verb_" + match->str(1) + "()"), std::string::npos) << file << " names ./dev " << match->str(1);
      }
    }
  }
}

TEST(Repository, NoFileIsTooLongToRead) {
  for (const fs::path& file : files_with({".h", ".cpp", ".cu", ".cuh", ".c", ".py"})) EXPECT_LE(lines_of(file).size(), 320u) << file;
}

}  // namespace
}  // namespace slotproof
