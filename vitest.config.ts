import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/bench/**"],
    testTimeout: 20_000,
    // Tests of the command, of children and of examples run from the build: `npm test` builds first.
    pool: "forks",
    maxWorkers: 2,
  },
});
