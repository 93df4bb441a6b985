/** Every command that a feature adds, in the order of the help. Nothing else in `cli/` knows the features. */
import { auditCommand } from '../audit/index.ts';
import type { ServeHttpLine } from '../bridge/serve-http.ts';
import { configCommand } from '../config/index.ts';
import { doctorCommand } from '../doctor/index.ts';
import { execCommand } from '../exec/index.ts';
import { imageCommand } from '../images/index.ts';
import { examineRegistrations, installCommand, listClientVariables, uninstallCommand } from '../install/index.ts';
import { examineLanguages, importCommand, snippetsCommand } from '../languages/index.ts';
import { topCommand } from '../live/index.ts';
import { serversCommand } from '../manage-servers/index.ts';
import { examinePackages, packagesCommand } from '../packages/index.ts';
import { acceptCommand } from '../pins/index.ts';
import { examinePolicies, policyCommand } from '../policy/index.ts';
import { examinePrestart } from '../prestart/index.ts';
import { recordCommand } from '../recordings/index.ts';
import { reportCommand } from '../report/index.ts';
import { toolsCommand } from '../saved-tools/index.ts';
import { secretsCommand } from '../secrets/index.ts';
import { sessionsCommand } from '../session-list/index.ts';
import type { LineOf } from '../terminal/define.ts';
import { tokensCommand } from '../tokens/index.ts';
import { uiCommand } from '../ui/index.ts';
import type { CompleteCommand, CompletionCommand } from './completion.ts';
import type { TopicCommand } from './help/command-line.ts';

export const COMMANDS = [
  execCommand,
  serversCommand,
  acceptCommand,
  policyCommand,
  installCommand,
  uninstallCommand,
  doctorCommand([examineLanguages, examinePackages, examinePolicies, examinePrestart, examineRegistrations]),
  configCommand(listClientVariables),
  auditCommand,
  reportCommand,
  recordCommand,
  sessionsCommand,
  topCommand,
  uiCommand(async () => (await import('./ui-parts.ts')).uiParts),
  imageCommand,
  packagesCommand,
  snippetsCommand,
  importCommand,
  toolsCommand,
  secretsCommand,
  tokensCommand,
] as const;

/** The parsed command line of one of them. */
export type FeatureLine = LineOf<(typeof COMMANDS)[number]['table']>;

/** A parsed command line. */
export type CommandLine =
  | { readonly command: 'run' }
  | ServeHttpLine
  | { readonly command: 'version' }
  /** The usage of a command, from `--help` or `help COMMAND`. */
  | { readonly command: 'help'; readonly text: string }
  | TopicCommand
  | CompletionCommand
  | CompleteCommand
  | FeatureLine;
