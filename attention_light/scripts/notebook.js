// The view as an anywidget: its traits are bound to what is chosen. Joined with the scripts that it calls `mount` of.

async function render({ model, el }) {
  let view = null;
  const fetchPart = (number) =>
    new Promise((done) => {
      const took = (message, buffers) => {
        if (message.part !== number) return;
        model.off("msg:custom", took);
        done(buffers.length ? new Uint8Array(buffers[0].buffer, buffers[0].byteOffset, buffers[0].byteLength) : null);
      };
      model.on("msg:custom", took);
      model.send({ part: number });
    });
  const bytes = () => {
    const data = model.get("_message");
    return new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice();
  };
  const tell = (values) => {
    for (const [name, value] of Object.entries(values)) model.set(name, value);
    model.save_changes();
  };
  const show = async () => {
    const before = view;
    const onErase = (tokens) => tell({ erased: tokens.sort((a, b) => a - b) });
    view = await mount(el, bytes(), { before, fetchPart, onErase, onState: tell });
    before?.close();
  };
  const set = () => view?.choosePlace(model.get("layer"), model.get("head"), model.get("token"));
  model.on("change:_message", show);
  for (const name of ["layer", "head", "token"]) model.on(`change:${name}`, set);
  model.on("change:erased", () => view?.setErased(model.get("erased")));
  await show();
  return () => view?.close();
}
export default { render };
