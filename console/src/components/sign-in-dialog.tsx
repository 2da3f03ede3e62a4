/** Asks for the sign-in again when a session has ended, over the page, so that unsaved changes are kept. */
import { Modal, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useNavigate } from 'react-router';
import { setCsrfToken } from '../api.ts';
import type { Session } from '../api-types.ts';
import { sessionKey } from '../session-key.ts';
import { texts } from '../texts/account.ts';
import { SignInForm } from './sign-in-form.tsx';

export function SignInDialog({ account }: { account: Session['account'] }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const enter = (session: Session) => {
    setCsrfToken(session.csrf_token);
    const isSame = session.account.email === account.email;
    // Nothing that another account loaded may be shown.
    if (!isSame) queries.clear();
    queries.setQueryData(sessionKey, session);
    if (isSame) void queries.invalidateQueries();
    else navigate('/', { replace: true });
  };
  return (
    <SignInForm
      Layout={DialogLayout}
      title={texts.sessionEnded}
      lead={texts.sessionEndedHint}
      onDone={enter}
      account={account.email}
    />
  );
}

function DialogLayout({ title, lead, children }: { title: string; lead?: ReactNode; children: ReactNode }) {
  return (
    <Modal opened onClose={() => {}} title={title} withCloseButton={false} closeOnEscape={false} zIndex={400}>
      {lead && (
        <Text size="sm" mb="md">
          {lead}
        </Text>
      )}
      {children}
    </Modal>
  );
}
