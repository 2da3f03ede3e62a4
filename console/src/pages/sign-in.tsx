/** Sign-in page. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Navigate, useLocation, useNavigate } from 'react-router';
import { consolePathOf } from '../../../src/core/identity/console-path.ts';
import { setCsrfToken } from '../api.ts';
import { type Session, signInProblems } from '../api-types.ts';
import { AuthLayout } from '../components/auth-layout.tsx';
import { SignInForm } from '../components/sign-in-form.tsx';
import { Loading } from '../components/states.tsx';
import { sessionQuery } from '../session.tsx';
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
    navigate(to, { replace: true });
  };
  const query = new URLSearchParams(search);
  const to = consolePathOf(query.get('to') ?? '/');
  const code = query.get('error');
  // Anyone can make a link with an error, so only known ones are shown.
  const problem = code && Object.hasOwn(signInProblems, code) ? `${signInProblems[code]}.` : texts.signInFailed;
  const error = code ? new Error(problem) : undefined;
  const session = useQuery({ ...sessionQuery, retry: false });
  if (!error && session.isPending) return <Loading label={texts.loadingTheConsole} />;
  // Stays after an error: a failed confirmation asks to sign in again.
  if (!error && session.data && !session.error) return <Navigate to={to} replace />;
  return <SignInForm Layout={AuthLayout} title={texts.signInToBelfry} onDone={enter} error={error} to={to} />;
}
