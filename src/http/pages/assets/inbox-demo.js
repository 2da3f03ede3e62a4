// What your own page does: it provides a token, and listens for new messages.
const inbox = document.querySelector('belfry-inbox');

inbox.getToken = async () => {
  const response = await fetch('/inbox-demo/token', { method: 'POST' });
  return (await response.json()).token;
};

inbox.addEventListener('belfry-message', event => {
  document.querySelector('#last').textContent = `Just arrived: ${event.detail.title}`;
});

document.querySelector('#trigger').addEventListener('click', async ({ currentTarget: button }) => {
  button.disabled = true;
  const response = await fetch('/inbox-demo/trigger', { method: 'POST' }).catch(() => undefined);
  button.disabled = false;
  if (!response?.ok) document.querySelector('#last').textContent = 'The event could not be triggered. Try again.';
});
