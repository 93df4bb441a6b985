/** What a bridge does now, for programs of the same user on this machine: a local API, and `top`, which shows it. */
export { LiveHub } from './hub.ts';
export { topCommand } from './top-command.ts';
export { WatchedBridge } from './watched-bridge.ts';
