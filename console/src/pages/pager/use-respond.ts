/** Responds to an occurrence, also while the connection is lost. */
import { useQueryClient } from '@tanstack/react-query';
import { showError, showSuccess, showWarning } from '../../components/actions.tsx';
import type { SnoozeRequest } from '../../components/snooze-menu.tsx';
import { type NewResponse, respond } from '../../pager/responses.ts';
import { useOrg } from '../../paths.ts';
import { refreshAll } from '../../queries.ts';
import { useSession } from '../../session.tsx';

/** Says what became of it. What could not be sent is shown by responses.tsx until it was. */
export function useRespond() {
  const org = useOrg();
  const queries = useQueryClient();
  const { account } = useSession();
  return async (wanted: Omit<NewResponse, 'org' | 'account'>): Promise<void> => {
    try {
      const outcome = await respond({ ...wanted, org, account: account.email });
      if (!outcome) return;
      void refreshAll(queries, ['/api/o/{org}/']);
      if (outcome.state === 'refused') showError(new Error(outcome.text));
      else if (outcome.changed) showSuccess(outcome.text);
      else showWarning(outcome.text);
    } catch (error) {
      showError(error);
    }
  };
}

/** The instant that was meant when it was chosen: the response may be sent later. */
export function toInstant(request: SnoozeRequest, now = Date.now()): string {
  if ('for' in request) return new Date(now + Number.parseInt(request.for, 10) * 3_600_000).toISOString();
  const [, hours, minutes] = /^(\d\d):(\d\d)$/.exec(request.until) ?? [];
  if (hours === undefined) return request.until;
  const at = new Date(now);
  at.setHours(Number(hours), Number(minutes), 0, 0);
  if (at.getTime() <= now) at.setDate(at.getDate() + 1);
  return at.toISOString();
}
