// Writes the report's library file and the licences of what is in it: `make assets`.
// The same package-lock.json gives the same bytes.
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const ASSETS = new URL("../../src/capscope/report/assets/", import.meta.url);
const PACKAGES = {
  echarts: ["NOTICE", "LICENSE", "licenses/LICENSE-d3"],
  zrender: ["LICENSE"],
  tslib: ["LICENSE.txt"],
  "d3-force": ["LICENSE"],
  "d3-dispatch": ["LICENSE"],
  "d3-quadtree": ["LICENSE"],
  "d3-timer": ["LICENSE"],
};

const read = (path) => readFileSync(new URL(`node_modules/${path}`, import.meta.url), "utf8");
const told = Object.entries(PACKAGES).map(([name, files]) => {
  const { version, license } = JSON.parse(read(`${name}/package.json`));
  const texts = files.map((file) => read(`${name}/${file}`).replaceAll("\r", "").trim());
  return { title: `${name} ${version} (${license})`, texts };
});

// A report is a copy of these libraries, so the notices that copies must carry stand in the file;
// the long Apache licence is named there and stands beside it.
const short = told.map(({ title, texts }, i) =>
  [title, ...(i === 0 ? texts.filter((_, j) => j !== 1) : texts)].join("\n\n"),
);
const banner = `/*\nWhat the report uses of these libraries, unchanged but minified:\n\n${short.join("\n\n").replaceAll("*/", "* /")}\n*/`;
const line = "=".repeat(80);
const all = told.map(({ title, texts }) => `${line}\n${title}\n${line}\n\n${texts.join("\n\n")}\n`);
writeFileSync(new URL("libraries.licences.txt", ASSETS), all.join("\n"));

const entry = new URL("entry.js", import.meta.url).pathname;
const { outputFiles } = await build({
  entryPoints: [entry],
  bundle: true,
  minify: true,
  write: false,
  format: "iife",
  globalName: "libraries",
  target: "es2022",
  legalComments: "none",
  banner: { js: banner },
});
writeFileSync(new URL("libraries.js", ASSETS), outputFiles[0].contents);
