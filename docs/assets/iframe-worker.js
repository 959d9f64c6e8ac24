/* Search in pages that were opened from a disk: there browsers start no Worker, so a hidden frame does its work. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.appendChild(this.frame)
      const inside = this.frame.contentWindow
      this.ready = new Promise(done => {
        inside.document.open()
        inside.document.write("<!doctype html><body></body>")
        inside.document.close()
        // The worker's answers; without this they would be sent to the frame itself.
        inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
        const script = inside.document.createElement("script")
        script.src = url
        script.onload = done
        inside.document.body.appendChild(script)
      })
    }

    async postMessage(data) {
      await this.ready
      const inside = this.frame.contentWindow
      inside.dispatchEvent(new inside.MessageEvent("message", { data }))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
