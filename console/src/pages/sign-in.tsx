/** Filled in by the next change. */
export default function SignIn() {
  return <main>Sign in</main>;
}
