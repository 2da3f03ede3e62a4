'use client';

import { useInbox } from '@belfry/inbox/react';
import { getToken } from './token';

/** A client component with its own UI. */
export function Count({ url }: { url: string }) {
  const { status, unread } = useInbox({ url, organization: 'acme', username: 'jane@acme.test', getToken });
  return <output>{status === 'ready' ? `${unread} unread` : status}</output>;
}
