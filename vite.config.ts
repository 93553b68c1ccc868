import { defineConfig } from "vite";

// The inspector's page: the only part of the package that is bundled. `npm run build` puts it beside what it is served by.
export default defineConfig({
  root: "plugins/inspector/web",
  base: "./",
  build: {
    outDir: "../../../dist/plugins/inspector/page",
    emptyOutDir: true,
    target: "es2023",
    // All of it comes from the server itself: nothing stands in the page that its policy would have to allow.
    assetsInlineLimit: 0,
    modulePreload: false,
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
