/**
 * A thread of a runner's child that ends it when its host is gone, also while the child's own thread is in an endless
 * loop: only the host holds the other end of the pipe that it reads, and nothing is ever written there.
 */
import { Socket } from "node:net";
import { parentPort } from "node:worker_threads";
import { childPipes } from "./child-pipes.ts";
import { killGroup } from "./process-group.ts";

let groups: readonly number[] = [];
// Both come from the child's own thread.
parentPort?.on("message", (pids: readonly number[]) => {
  groups = pids;
});

const pipe = new Socket({ fd: childPipes.life });
pipe.on("error", () => undefined);
pipe.once("close", () => {
  for (const pid of groups) killGroup(pid, "SIGKILL");
  killGroup(process.pid, "SIGKILL");
});
pipe.resume();
parentPort?.postMessage("watching");
