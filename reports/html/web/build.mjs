// Builds the page of report.html: installs the packages of package-lock.json in a work folder, makes
// the types of reports/schemas, checks all types, bundles src/main.tsx and src/style.css, and writes both as string literals of a C++
// source. The source tree stays as it is. Not for the page around them (reports/html/page.cc).
//
//   node build.mjs WORK_FOLDER WEB_ASSETS.CC STAMP DEPENDENCY_FILE
//
// Packages that cannot be installed are no error: the C++ source then has the reason instead of the
// page, and STAMP is missing, so that the next build tries again. Wrong code is an error.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const web = path.dirname(fileURLToPath(import.meta.url));
const [work, output, stamp, dependencies] = process.argv.slice(2).map((name) => path.resolve(name));
const schemas = path.join(web, "../../schemas");
const SCHEMAS = ["report", "compare", "porting"]; // whose documents a page has
const MANIFESTS = ["package.json", "package-lock.json", ".npmrc"];

function fail(message) {
  process.stderr.write(`build.mjs: error: ${message}\n`);
  process.exit(1);
}

function writeIfChanged(file, text) {
  if (fs.existsSync(file) && fs.readFileSync(file, "utf8") === text) return;
  fs.writeFileSync(file, text);
}

// Empty: the packages of the lock file are in WORK/node_modules. Else why not.
function install() {
  const manifests = MANIFESTS.map((name) => fs.readFileSync(path.join(web, name), "utf8"));
  const wanted = createHash("sha256").update(manifests.join("\0")).digest("hex");
  const installed = path.join(work, "installed");
  if (fs.existsSync(installed) && fs.readFileSync(installed, "utf8") === wanted) return "";
  fs.rmSync(installed, { force: true });
  MANIFESTS.forEach((name, i) => fs.writeFileSync(path.join(work, name), manifests[i]));
  // Without scripts of the packages: none of them needs one. On Windows npm is a script of the shell.
  const npm = spawnSync("npm", ["ci", "--ignore-scripts", "--prefer-offline", "--fetch-retries=1",
    "--fetch-retry-mintimeout=2000"], { cwd: work, encoding: "utf8", shell: process.platform === "win32" });
  if (npm.error) return `npm could not be started: ${npm.error.message}`;
  if (npm.status !== 0) {
    fs.writeFileSync(path.join(work, "npm.log"), npm.stdout + npm.stderr);
    const line = npm.stderr.split("\n").find((text) => /error/i.test(text)) ?? "";
    return `npm ci failed: ${line.replace(/^npm (error|ERR!) /, "")} (${path.join(work, "npm.log")})`;
  }
  fs.writeFileSync(installed, wanted);
  return "";
}

// In WORK/schemas, where src/ finds them: a type for each definition, and one for the document.
async function makeTypes() {
  const { compile } = await import(pathToFileURL(path.join(work, "node_modules/json-schema-to-typescript/dist/src/index.js")));
  fs.mkdirSync(path.join(work, "schemas"), { recursive: true });
  for (const name of SCHEMAS) {
    const { title, ...schema } = JSON.parse(fs.readFileSync(path.join(schemas, `${name}.schema.json`), "utf8"));
    const types = await compile(schema, name, { additionalProperties: false, format: false,
      ignoreMinAndMaxItems: true, bannerComment: `// Made of ${title}: reports/schemas/${name}.schema.json.` });
    writeIfChanged(path.join(work, "schemas", `${name}.ts`), types);
  }
}

// For the build tool, which then sees a change of any file or folder of src/.
function writeDependencies() {
  const found = [];
  const visit = (folder) => {
    found.push(folder);
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      const file = path.join(folder, entry.name);
      if (entry.isDirectory()) visit(file);
      else found.push(file);
    }
  };
  visit(path.join(web, "src"));
  found.push(...SCHEMAS.map((name) => path.join(schemas, `${name}.schema.json`)));
  const escaped = found.map((file) => file.replace(/[ #\\]/g, "\\$&").replace(/\$/g, "$$$$"));
  fs.writeFileSync(dependencies, `${output.replace(/ /g, "\\ ")}: ${escaped.join(" \\\n ")}\n`);
}

// Names of the packages that the bundle has code of.
function bundled(metafile) {
  const names = Object.keys(metafile.inputs).map((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]);
  return [...new Set(names.filter(Boolean))].sort();
}

// Their licences ask for their notice in every copy.
function licences(names) {
  return names.map((name) => {
    const folder = path.join(work, "node_modules", name);
    const { version, license } = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
    const file = fs.readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) fail(`the package ${name} has no licence file: look up what it asks for`);
    return `${name} ${version} (${license})\n\n${fs.readFileSync(path.join(folder, file), "utf8").trim()}\n`;
  }).join("\n\n");
}

async function bundle() {
  const { build } = await import(pathToFileURL(path.join(work, "node_modules/esbuild/lib/main.js")));
  const made = await build({
    absWorkingDir: work, entryPoints: ["src/main.tsx", "src/style.css"], outdir: "out", write: false,
    bundle: true, minify: true, format: "iife", charset: "ascii", legalComments: "none", metafile: true,
    target: ["chrome109", "firefox115", "safari16.4"], jsx: "automatic", jsxImportSource: "preact",
    preserveSymlinks: true, logLevel: "warning", define: { "process.env.NODE_ENV": '"production"' },
  }).catch(() => fail("src/ could not be bundled"));
  const text = (end) => made.outputFiles.filter((file) => file.path.endsWith(end)).map((file) => file.text).join("");
  return { script: text(".js"), style: text(".css"), licences: licences(bundled(made.metafile)) };
}

// The page's hash is that of the text between the tags as a browser reads it.
function checked(name, text) {
  if (/[\0\r]|[^\0-\x7f]|<!--|<\/?(script|style)/i.test(text))
    fail(`the ${name} has text that ends or changes its HTML element`);
  return text;
}

const hash = (text) => `sha256-${createHash("sha256").update(text).digest("base64")}`;

// Adjacent literals: compilers limit the length of one, and octal escapes have a fixed length.
function literal(text) {
  const bytes = Buffer.from(text);
  const lines = [];
  for (let at = 0; at < bytes.length; at += 4000) {
    lines.push([...bytes.subarray(at, at + 4000)].map((byte) => {
      const c = String.fromCharCode(byte);
      return /[ -~]/.test(c) && !/["\\?]/.test(c) ? c : `\\${byte.toString(8).padStart(3, "0")}`;
    }).join(""));
  }
  return lines.map((line) => `\n    "${line}"`).join("") || '""';
}

function write(assets) {
  const members = ["missing", "script", "script_hash", "style", "style_hash", "licences"];
  writeIfChanged(output, `// Written by reports/html/web/build.mjs.
#include "reports/html/web_assets.h"

namespace compat::reports {

const WebAssets& web_assets() {
    static const WebAssets assets{
${members.map((name) => `        .${name} = std::string_view(${literal(assets[name] ?? "")}, ${Buffer.byteLength(assets[name] ?? "")})`).join(",\n")}};
    return assets;
}

}  // namespace compat::reports
`);
}

fs.mkdirSync(work, { recursive: true });
fs.rmSync(stamp, { force: true });
writeDependencies();
const missing = install();
if (missing) {
  process.stderr.write(`build.mjs: warning: the runner is built without report.html: ${missing}\n`);
  write({ missing });
  process.exit(0);
}
// Links: packages are looked up beside a file, and nothing is installed in the source tree.
for (const name of ["src", "tsconfig.json"]) {
  fs.rmSync(path.join(work, name), { force: true });
  fs.symlinkSync(path.join(web, name), path.join(work, name), name === "src" ? "dir" : "file");
}
await makeTypes();
const types = spawnSync(process.execPath, [path.join(work, "node_modules/typescript/bin/tsc"), "--noEmit", "-p", "."],
  { cwd: work, stdio: ["ignore", 2, 2] });
if (types.status !== 0) fail("the types of src/ are wrong");
const { script, style, licences: notices } = await bundle();
checked("script", script);
checked("style", style);
if (/-->|--!>/.test(notices)) fail("a licence ends an HTML comment");
write({ script, script_hash: hash(script), style, style_hash: hash(style), licences: notices });
fs.writeFileSync(stamp, "");
