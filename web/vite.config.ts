import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

/** What a build is made from, besides `src` and `public`. scripts/check_web.py has the same list. */
const FILES = ["index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts"];

export default defineConfig({
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [sourcesHash(), fontLicence()],
  build: {
    outDir: "../src/millrace/server/web",
    emptyOutDir: true,
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    modulePreload: { polyfill: false },
    license: { fileName: "licences.md" },
    // a data: URL would need a hole in the page's content security policy
    assetsInlineLimit: 0,
  },
  server: { proxy: { "^/(overview|config|jobs|jars|savepoints|taskmanagers|jobmanager|health)": "http://127.0.0.1:8081" } },
});

/** Puts a hash of the sources into the build, so that who has no Node sees whether it is theirs. */
function sourcesHash(): Plugin {
  return {
    name: "sources-hash",
    generateBundle() {
      const hash = createHash("sha256");
      const below = (folder: string): string[] =>
        readdirSync(new URL(folder, import.meta.url), { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => `${entry.parentPath.slice(new URL(".", import.meta.url).pathname.length)}/${entry.name}`);
      for (const name of [...FILES, ...below("src"), ...below("public")].sort()) {
        hash.update(`${name}\0`).update(readFileSync(new URL(name, import.meta.url))).update("\0");
      }
      this.emitFile({ type: "asset", fileName: "sources.sha256", source: `${hash.digest("hex")}\n` });
    },
  };
}

/** The font's licence wants to go with it; `build.license` tells only of scripts. */
function fontLicence(): Plugin {
  const licence = new URL("node_modules/@fontsource-variable/inter/LICENSE", import.meta.url);
  return {
    name: "font-licence",
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "assets/inter-licence.txt", source: readFileSync(licence) });
    },
  };
}
