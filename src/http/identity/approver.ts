/** What only approvers may do: a role that prepares must not be able to send. */
import { AppError } from '../../core/errors.ts';
import { canonicalJson, type Json } from '../../core/json.ts';
import type { SomeResources } from '../resolve.ts';
import type { Call } from '../server/route.ts';

type ApprovedCall = Pick<Call, 'caller'> & SomeResources;

/** Throws if the caller changes a guard, but may not approve what it holds: the guard would not hold anyone up. */
export function requireGuardChange(call: ApprovedCall, guard: object | null, before: object | null): void {
  if (canonicalJson(guard as Json) !== canonicalJson(before as Json)) requireApprover(call, 'guard: changing it');
}

/** Throws if the caller may not approve; `what` begins the message. */
export function requireApprover({ caller, organization, project, application }: ApprovedCall, what: string): void {
  const path = { organization: organization!, ...(project && { project }), ...(application && { application }) };
  if (caller.grant.allows('occurrence:approve', path)) return;
  const code = caller.kind === 'key' ? 'key.permission' : 'role.permission';
  throw new AppError(code, `${what} requires the permission occurrence:approve`);
}
