/** Every command that a feature adds, in the order of the help. The one place of the command line that knows the features. */
import { auditCommand } from '../audit/index.ts';
import { doctorCommand } from '../doctor/index.ts';
import { execCommand } from '../exec/index.ts';
import { imageCommand } from '../images/index.ts';
import { examineRegistrations, installCommand } from '../install/index.ts';
import { serversCommand } from '../manage-servers/index.ts';
import { acceptCommand } from '../pins/index.ts';
import { examinePolicies, policyCommand } from '../policy/index.ts';
import { sessionsCommand } from '../session-list/index.ts';
import type { LineOf } from '../terminal/command.ts';
import type { CompleteCommand, CompletionCommand } from './completion.ts';
import type { TopicCommand } from './help/define.ts';

export const COMMANDS = [
  execCommand,
  serversCommand,
  acceptCommand,
  policyCommand,
  installCommand,
  doctorCommand([examinePolicies, examineRegistrations]),
  sessionsCommand,
  imageCommand,
  auditCommand,
] as const;

/** What was typed for one of them. */
export type FeatureLine = LineOf<(typeof COMMANDS)[number]>;

/** The command line, as data. */
export type CommandLine =
  | { readonly command: 'run' }
  | { readonly command: 'version' }
  /** The help of a command, asked for as `--help` or `help`. */
  | { readonly command: 'help'; readonly text: string }
  | TopicCommand
  | CompletionCommand
  | CompleteCommand
  | FeatureLine;
