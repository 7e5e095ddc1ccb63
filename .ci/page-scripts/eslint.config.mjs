// Rules for the page scripts, which TypeScript checks too. The page's own world must take from saved.js
// what it has, as scripts of the page may replace the global of that name.
import { readFileSync } from "node:fs";

const folder = "pytest_miniwob_agent/browser/page";
const read = (name) => readFileSync(`${folder}/${name}.js`, "utf8");
const withImports = (name) => [name,
  ...[...read(name).matchAll(/^(?:import|\}).*"\.\/(\w+)\.js";$/gm)].flatMap(([, other]) => withImports(other))];
const files = (names) => [...new Set(names)].map((name) => `${folder}/${name}.js`);
const saved = read("saved").match(/^export const [^=]*=/gm).flatMap((names) => names.match(/\w+(?=\s*[,}\]= ])/g));

export default [
  {
    files: [`${folder}/*.js`],
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      "eqeqeq": "error",
      "max-len": ["error", { code: 120, ignoreTemplateLiterals: true }],
      "no-duplicate-imports": "error",
      "no-else-return": "error",
      "no-self-compare": "error",
      "no-unused-vars": "error",
      "no-use-before-define": ["error", { functions: false, variables: false }],
      "no-useless-return": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "quotes": ["error", "double", { avoidEscape: true, allowTemplateLiterals: true }],
      "semi": "error",
    },
  },
  {
    files: files(withImports("served")),
    ignores: files(["saved"]),
    rules: { "no-restricted-globals": ["error", ...new Set(saved)] },
  },
];
