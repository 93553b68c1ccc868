export { checkConsumerOptions } from "./consumer-options.ts";
export type {
  BatchConsumerOptions,
  BatchFailures,
  BatchHandler,
  BatchOutcome,
  ConsumerOptions,
  ConsumerSettings,
  ConsumerStats,
  EventConsumerOptions,
  Grant,
  Handler,
  PayloadLevel,
  Subscription,
} from "./observer.ts";
export { Observers, type DrainResult } from "./observers.ts";
