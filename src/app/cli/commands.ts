/** Every command that a feature adds, in the order of the help. Nothing else in `cli/` knows the features. */

import type { LineOf } from '../../edges/terminal/define.ts';
import { imageCommand } from '../../features/images/index.ts';
import { examineLanguages, importCommand, snippetsCommand } from '../../features/languages/index.ts';
import { examinePackages, packagesCommand } from '../../features/packages/index.ts';
import { acceptCommand } from '../../features/pins/index.ts';
import { examinePolicies, policyCommand } from '../../features/policy/index.ts';
import { examinePrestart } from '../../features/prestart/index.ts';
import { findFunction, listFunctionNames, toolsCommand } from '../../features/saved-tools/index.ts';
import { secretsCommand } from '../../features/secrets/index.ts';
import { approvalsCommand } from '../../features/waiting-questions/index.ts';
import { tokensCommand } from '../../front/tokens/index.ts';
import { auditCommand } from '../../record/audit/index.ts';
import { topCommand } from '../../record/live/index.ts';
import { recordCommand } from '../../record/recordings/index.ts';
import { reportCommand } from '../../record/report/index.ts';
import { sessionsCommand } from '../../record/session-list/index.ts';
import { uiCommand } from '../../record/ui/index.ts';
import type { ServeHttpLine } from '../bridge/serve-http.ts';
import { configCommand } from '../config/index.ts';
import { doctorCommand } from '../doctor/index.ts';
import { execCommand } from '../exec/index.ts';
import { examineRegistrations, installCommand, listClientVariables, uninstallCommand } from '../install/index.ts';
import { serversCommand } from '../manage-servers/index.ts';
import { examineSchedules, scheduleCommand } from '../schedule/index.ts';
import type { CompleteCommand, CompletionCommand } from './completion.ts';
import type { TopicCommand } from './help/command-line.ts';

export const COMMANDS = [
  execCommand,
  serversCommand,
  acceptCommand,
  policyCommand,
  approvalsCommand,
  installCommand,
  uninstallCommand,
  doctorCommand([
    examineLanguages,
    examinePackages,
    examinePolicies,
    examinePrestart,
    examineRegistrations,
    examineSchedules({ find: findFunction, list: listFunctionNames }),
  ]),
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
  scheduleCommand,
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
