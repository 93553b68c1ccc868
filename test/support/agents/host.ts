// A host in a process of its own. Its arguments are the post of its one turn, and those of the agent. It prints the first
// text it gets, and exits when its input ends, leaving the agent as it is.
import { systemClock } from "../../../core/index.ts";
import { createAcpRunner } from "../../../plugins/runners/acp-runner.ts";
import { fakeTurn } from "../fake-turn.ts";

const [post = "", ...args] = process.argv.slice(2);
const config = { kind: "acp" as const, command: process.execPath, args };
const runner = createAcpRunner(config, { clock: systemClock, report: () => undefined });
const turn = fakeTurn({ post });
void runner.run(turn);
void turn.seen(() => true).then(() => process.stdout.write(turn.text));
process.stdin.on("end", () => process.exit(0)).resume();
