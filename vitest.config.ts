import { defineConfig } from "vitest/config";

// Where a machine wants to count: the path of a JSON report, written beside the lines for people.
const report = process.env["ROOMTAP_TEST_REPORT"];

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/bench/**"],
    testTimeout: 20_000,
    // Tests of the command, of children and of examples run from the build: `npm test` builds first.
    pool: "forks",
    maxWorkers: 2,
    reporters: report === undefined ? ["default"] : ["default", ["json", { outputFile: report }]],
  },
});
