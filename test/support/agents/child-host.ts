// A host in a process of its own. Its arguments are the config of a runner in a child, as JSON, and the post of its one
// turn. It prints the first text it gets, and exits when its input ends, leaving the child as it is.
import { systemClock } from "../../../core/index.ts";
import { parseRunnerConfig } from "../../../plugins/runners/config.ts";
import { createProcessRunner } from "../../../plugins/runners/process-runner.ts";
import { fakeTurn } from "../fake-turn.ts";

const [config = "", post = ""] = process.argv.slice(2);
const options = { clock: systemClock, report: () => undefined };
const runner = createProcessRunner(parseRunnerConfig(JSON.parse(config)), options);
const turn = fakeTurn({ post });
void runner.run(turn);
void turn.seen(() => true).then(() => process.stdout.write(turn.text));
process.stdin.on("end", () => process.exit(0)).resume();
