/** Hides the tools that a policy denies whatever their arguments. */

import type { CatalogTool } from '../../core/catalog/known.ts';
import type { VisibleTools } from '../../core/directory/visible-tools.ts';
import type { CurrentPolicies } from './current-policies.ts';
import { deniedCall, policyDenied } from './gate.ts';
import type { Policies } from './rules/policies.ts';

export function createVisibleTools(current: CurrentPolicies): VisibleTools {
  const known = new WeakMap<
    readonly CatalogTool[],
    { readonly policies: Policies; readonly visible: readonly CatalogTool[] }
  >();

  return {
    of(server, tools) {
      const policies = current();
      const before = known.get(tools);
      if (policies === undefined || before?.policies === policies) {
        return policies === undefined ? tools : (before?.visible ?? tools);
      }
      const left = tools.filter((tool) => policies.of(server, tool).denied === undefined);
      const visible =
        [tools, before?.visible].find((same) => same?.length === left.length && isSame(same, left)) ?? left;
      known.set(tools, { policies, visible });
      return visible;
    },
    refusalOf(server, tool) {
      const denied = current()?.of(server, tool).denied;
      return denied && deniedCall({ server, tool }, denied.reason);
    },
    refusalOfServer(server) {
      const reason = current()?.denial(server);
      return reason === undefined ? undefined : policyDenied(`calls to '${server.name}' are not allowed: ${reason}`);
    },
    refusalOfAll() {
      const problem = current()?.problem;
      return problem === undefined ? undefined : policyDenied(`no call is allowed: ${problem}`);
    },
  };
}

function isSame(left: readonly CatalogTool[], right: readonly CatalogTool[]): boolean {
  return left.every((tool, index) => tool === right[index]);
}
