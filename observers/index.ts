export type { ConsumerOptions, ConsumerStats, Grant, Handler, PayloadLevel, Subscription } from "./observer.ts";
export { Observers, type DrainResult } from "./observers.ts";
