/** The accepted tool definitions of each server, and what happens when a server changes them. */
export { acceptCommand } from './command.ts';
export { createPinGate } from './gate.ts';
export { createToolPins } from './pinned-tools.ts';
export { createToolPinStore } from './tool-pins.ts';
