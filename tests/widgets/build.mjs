// Bundles the pages of cases.mjs, with the packages that npm has installed here, into the folder that PAGES names.
import fs from 'node:fs';
import * as esbuild from 'esbuild';
import { C } from './cases.mjs';

const folder = process.env.PAGES;
const loader = Object.fromEntries(
  ['.ttf', '.png', '.svg', '.webp', '.woff', '.woff2', '.eot'].map((end) => [end, 'dataurl']));
const define = {
  'process.env': '{}', 'process.env.NODE_ENV': '"production"', __VUE_OPTIONS_API__: 'true',
  __VUE_PROD_DEVTOOLS__: 'false', __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
};
const shared = { bundle: true, loader, logLevel: 'error' };
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

fs.mkdirSync(`${folder}/_lib`, { recursive: true });
fs.mkdirSync('gen', { recursive: true });
for (const name of ['tile', 'marker']) { // Leaflet's
  fs.writeFileSync(`${folder}/_lib/${name}.png`, Buffer.from(PIXEL, 'base64'));
}
for (const [name, { goal, ok, html, js, css = [], files = [] }] of Object.entries(C)) {
  const out = `${folder}/_lib/${name}`;
  if (js) {
    fs.writeFileSync(`gen/${name}.jsx`, js);
    await esbuild.build({
      ...shared, entryPoints: [`gen/${name}.jsx`], outfile: `${out}.js`, minify: true, format: 'iife', define,
      banner: { js: 'window.process=window.process||{env:{}};' },
    });
  }
  if (css.length) {
    const contents = css.map((file) => `@import "${file}";`).join('\n');
    await esbuild.build({ ...shared, stdin: { contents, resolveDir: '.', loader: 'css' }, outfile: `${out}.css` });
  }
  const styled = fs.existsSync(`${out}.css`) ? `<link rel=stylesheet href="/_lib/${name}.css">` : '';
  const scripted = js ? `<script src="/_lib/${name}.js"></script>` : '';
  const task = `window.R={};window.task={goal:${JSON.stringify(goal)},files:${JSON.stringify(files)},`
    + `reward(){return (${ok})?1:0}}`;
  fs.writeFileSync(`${folder}/${name}.html`, `<!doctype html><html lang=en><head><meta charset=utf-8>`
    + `<title>${name}</title>${styled}<script>${task}</script></head>`
    + `<body>${html ?? '<div id="root"></div>'}${scripted}</body></html>`);
}
