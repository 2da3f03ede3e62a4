import { api, take } from '../api.ts';
import { useOrg } from '../paths.ts';
import { texts } from '../texts/responses.ts';
import { useAction } from './actions.tsx';
import { useConfirmedAction } from './confirm.tsx';

/** What a person can do about an occurrence with steps. */
export function useResponses(identifier: string) {
  const org = useOrg();
  const params = { path: { org, identifier } };
  const acknowledge = useAction({
    run: () => take(api.POST('/api/o/{org}/occurrence/{identifier}/acknowledge/', { params })),
    done: texts.acknowledgedToast,
    refresh: ['/api/o/{org}/'],
  });
  const unacknowledge = useConfirmedAction({
    question: { title: texts.unacknowledgeQuestion, children: texts.unacknowledgeHint, action: texts.unacknowledge },
    run: () => take(api.POST('/api/o/{org}/occurrence/{identifier}/unacknowledge/', { params })),
    done: texts.unacknowledgedToast,
    refresh: ['/api/o/{org}/'],
  });
  const resolve = useConfirmedAction({
    question: { title: texts.resolveQuestion, children: texts.resolveHint, action: texts.resolve },
    run: () => take(api.POST('/api/o/{org}/occurrence/{identifier}/resolve/', { params })),
    done: texts.resolvedToast,
    refresh: ['/api/o/{org}/'],
  });
  return { acknowledge, unacknowledge, resolve };
}
