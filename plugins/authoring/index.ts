export { authoringCommands, type AuthoringParts } from "./authoring-commands.ts";
export { checkPluginCommand, type CheckKit, type CheckOptions, type Finding } from "./check-command.ts";
export { newPluginCommand, type NewOptions } from "./new-command.ts";
