/** Sign-in page. */
import { useQueryClient } from '@tanstack/react-query';
import { useLocation, useNavigate } from 'react-router';
import { setCsrfToken } from '../api.ts';
import { type Session, signInProblems } from '../api-types.ts';
import { AuthLayout } from '../components/auth-layout.tsx';
import { SignInForm } from '../components/sign-in-form.tsx';
import { returnPath, sessionQuery } from '../session.tsx';
import { texts } from '../texts/account.ts';

export default function SignIn() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { search } = useLocation();
  const enter = (session: Session) => {
    setCsrfToken(session.csrf_token);
    // Clears the previous user's data.
    queries.clear();
    queries.setQueryData(sessionQuery.queryKey, session);
    navigate(returnPath(search), { replace: true });
  };
  const code = new URLSearchParams(search).get('error');
  const error = code ? new Error(`${signInProblems[code] ?? code}.`) : undefined;
  return <SignInForm Layout={AuthLayout} title={texts.signInToBelfry} onDone={enter} error={error} />;
}
