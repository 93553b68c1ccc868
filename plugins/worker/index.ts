export { workerCode } from "./worker-code.ts";
