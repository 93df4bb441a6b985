/** What the page of `ui` shows and changes of other features. Loaded only for it. */

import { inEveryFolder } from '../../edges/terminal/stored-things.ts';
import { readStoredArtifact, storedArtifacts } from '../../features/artifacts/index.ts';
import { storedPackages } from '../../features/packages/index.ts';
import { createCurrentPolicies, createPolicyRules } from '../../features/policy/index.ts';
import {
  functionNamesIn,
  keepFunction,
  readStoredFunction,
  storedFunctions,
} from '../../features/saved-tools/index.ts';
import { QuestionQueue } from '../../features/waiting-questions/index.ts';
import { readKeptCell } from '../../record/recordings/index.ts';
import { storedCheckpoints } from '../../record/session-list/index.ts';
import type { UiParts } from '../../record/ui/index.ts';

const READERS = new Map<string, (folder: string, id: string) => ReturnType<UiParts['readStored']>>([
  ['artifacts', readStoredArtifact],
  ['functions', readStoredFunction],
]);

export const uiParts: UiParts = {
  openPolicy({ logger, settings: { stateDir } }, servers) {
    const policies = createCurrentPolicies({ stateDir, definitions: servers.definitions, logger });
    return createPolicyRules({ stateDir, servers, policies });
  },
  readKeptCell,
  functionNamesIn,
  openQuestions: ({ logger, settings: { stateDir } }) => new QuestionQueue(stateDir, logger),
  keepFunction: (code, name, { settings }) => keepFunction(code, name, settings),
  stored(kind, { logger, settings }) {
    switch (kind) {
      case 'packages':
        return storedPackages(settings, logger);
      case 'functions':
        return inEveryFolder(settings.stateDir, storedFunctions);
      case 'checkpoints':
        return inEveryFolder(settings.stateDir, (folder) => storedCheckpoints(folder, logger));
      case 'artifacts':
        return inEveryFolder(settings.stateDir, storedArtifacts);
    }
  },
  async readStored(kind, id, { settings }) {
    const read = READERS.get(kind);
    const found = await inEveryFolder(settings.stateDir, storedArtifacts).folderOf(id);
    return found && read?.(found.folder, found.id);
  },
};
