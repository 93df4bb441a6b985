import { expect, it } from 'vitest';
import { findRestriction } from '../../../src/edges/engines/namespace-settings.ts';

it.each([
  [{ unprivilegedClone: '0', appArmorRestricts: '1' }, 'kernel.unprivileged_userns_clone is 0'],
  [{ maxNamespaces: '0', unprivilegedClone: '1' }, 'user.max_user_namespaces is 0'],
  [{ maxNamespaces: '15000', appArmorRestricts: '1' }, 'kernel.apparmor_restrict_unprivileged_userns is 1'],
  [{ maxNamespaces: '15000', unprivilegedClone: '1', appArmorRestricts: '0' }, undefined],
  [{}, undefined],
])('with %j finds the setting that forbids user namespaces', (settings, found) => {
  expect(findRestriction({ isInContainer: false, ...settings })).toBe(found);
});
