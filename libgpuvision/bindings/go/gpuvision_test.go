// SPDX-License-Identifier: BSD-2-Clause

package gpuvision

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// ---- what tests share ------------------------------------------------------------------------

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// made is must for what gives a value, too.
func made[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return value
	}
}

// wants an error of the library that says all of texts.
func wants(t *testing.T, err error, status Status, texts ...string) {
	t.Helper()
	var failure *Error
	if !errors.As(err, &failure) || failure.Status != status || !errors.Is(err, status) {
		t.Errorf("got %v, want %v", err, status)
		return
	}
	if want := status.Error() + ": " + failure.Text; err.Error() != want {
		t.Errorf("got %q, want %q", err.Error(), want)
	}
	for _, text := range texts {
		if !strings.Contains(failure.Text, text) {
			t.Errorf("%q does not say %q", failure.Text, text)
		}
	}
}

func equal[T any](t *testing.T, what string, is, want T) {
	t.Helper()
	if any(is) != any(want) {
		t.Errorf("%s is %v, want %v", what, is, want)
	}
}

func equals[T any](t *testing.T, what string, is, want []T) {
	t.Helper()
	if fmt.Sprint(is) != fmt.Sprint(want) {
		t.Errorf("%s is\n%v, want\n%v", what, is, want)
	}
}

func onBackend(t *testing.T, backend Backend) *Context {
	t.Helper()
	context := made(NewContext(&ContextParams{Backend: backend}))(t)
	t.Cleanup(func() { context.Close() })
	return context
}

func cpu(t *testing.T) *Context {
	t.Helper()
	return onBackend(t, BackendCPU)
}

// open is for what has the same result everywhere: CUDA computes where it can be used.
func open(t *testing.T) *Context {
	t.Helper()
	return onBackend(t, BackendAuto)
}

func newImage(t *testing.T, format Format, width, height int) *Image {
	t.Helper()
	return made(NewImage(format, width, height))(t)
}

func grey(t *testing.T, width int, pixels ...byte) *Image {
	t.Helper()
	return made(Wrap(FormatGray8, width, len(pixels)/width, pixels, 0))(t)
}

// fill sets a rectangle of GRAY8.
func fill(i *Image, r image.Rectangle, value byte) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			i.Pix(0)[y*i.Stride(0)+x] = value
		}
	}
}

// blob is bright round (x, y), and falls off with sigma.
func blob(t *testing.T, width, height int, x, y, sigma float64) *Image {
	t.Helper()
	i := newImage(t, FormatGray8, width, height)
	for n := range i.Pix(0) {
		dx, dy := float64(n%width)-x, float64(n/width)-y
		i.Pix(0)[n] = byte(20 + 220*math.Exp(-(dx*dx+dy*dy)/(2*sigma*sigma)))
	}
	return i
}

// noise has many different keypoints.
func noise(t *testing.T, width, height int) *Image {
	t.Helper()
	i := newImage(t, FormatGray8, width, height)
	state := uint32(1)
	next := func(bound int) int {
		state = state*1664525 + 1013904223
		return int(state>>8) % bound
	}
	for n := 0; n < width*height/30; n++ {
		side := 3 + next(12)
		corner := image.Pt(next(width), next(height))
		square := image.Rectangle{corner, corner.Add(image.Pt(side, side))}
		fill(i, square.Intersect(image.Rect(0, 0, width, height)), byte(next(256)))
	}
	return i
}

// ---- parameters -------------------------------------------------------------------------------

func TestParametersAreDescribed(t *testing.T) {
	fields := Fields("erode")
	if len(fields) != 8 {
		t.Fatalf("erode has %d parameters, want 8", len(fields))
	}
	operation, radius := fields[0], fields[2]
	equal(t, "a name", operation.Name, "operation")
	equal(t, "its kind", operation.Kind, FieldChoice)
	equal(t, "a choice", operation.Choices[1], Choice{"dilate", "Maximum under the element", 1})
	equal(t, "a range", [3]float64{radius.Low, radius.High, radius.Initial}, [3]float64{0, 255, 1})
	equal(t, "a unit", radius.Unit, "pixels")
	equal(t, "choices of a number", len(radius.Choices), 0)
	equal(t, "parameters of nothing", len(Fields("none")), 0)
}

// ---- library and context ---------------------------------------------------------------------

func TestLibrary(t *testing.T) {
	equal(t, "major version", APIVersion()>>16, 1)
	if !strings.Contains(Version(), "cpu") {
		t.Errorf("version is %q", Version())
	}
	equal(t, "CPU", BackendCPU.Available(), true)
	equal(t, "AUTO", BackendAuto.Available(), true)
	equal(t, "no backend", Backend(9).Available(), false)
	equal(t, "a status", ErrTooSmall.Error(), "buffer too small")
	equal(t, "an error without text", (&Error{Status: ErrInternal}).Error(), "internal error")
}

func TestContext(t *testing.T) {
	context := cpu(t)
	equal(t, "backend", context.Backend(), BackendCPU)
	if !strings.Contains(context.DeviceName(), "CPU") {
		t.Errorf("device is %q", context.DeviceName())
	}
	must(t, context.Sync(DefaultStream))
	must(t, context.Follow(DefaultStream, Stream(1)))
	equal(t, "defaults", fmt.Sprintf("%+v", DefaultContextParams()),
		"{Backend:0 Device:0 LogLevel:2 Log:<nil> Threads:0}")
	automatic := made(NewContext(nil))(t)
	must(t, automatic.Close())
}

func TestContextThatCannotBe(t *testing.T) {
	_, err := NewContext(&ContextParams{Backend: Backend(7)})
	wants(t, err, ErrInvalidArgument, "params->backend is 7", "0..2")
	_, err = NewContext(&ContextParams{LogLevel: 5})
	wants(t, err, ErrInvalidArgument, "params->log_level is 5", "0..4")
	_, err = NewContext(&ContextParams{Device: math.MinInt64})
	wants(t, err, ErrInvalidArgument, "params->device", "-1..")
	_, err = NewContext(&ContextParams{Threads: -1})
	wants(t, err, ErrInvalidArgument, "params->threads is -1", "0..")
	if BackendCUDA.Available() {
		return
	}
	_, err = NewContext(&ContextParams{Backend: BackendCUDA})
	var failure *Error
	if !errors.As(err, &failure) || failure.Text == "" ||
		failure.Status != ErrNoDevice && failure.Status != ErrUnsupported {
		t.Errorf("got %v", err)
	}
	if errors.Is(err, ErrInvalidArgument) {
		t.Errorf("%v is no invalid argument", err)
	}
}

func TestLog(t *testing.T) {
	for _, leave := range []func(){func() {}, func() { panic("of the log function") },
		runtime.Goexit} {
		var lines []string
		log := func(level LogLevel, message string) {
			lines = append(lines, fmt.Sprint(level, " ", message))
			leave()
		}
		_, err := NewContext(&ContextParams{Backend: Backend(7), Log: log})
		wants(t, err, ErrInvalidArgument, "params->backend")
		equals(t, "log", lines, []string{"1 params->backend is 7, must be 0..2"})

		lines = nil
		context := made(NewContext(&ContextParams{
			Backend: BackendCPU, Log: log, LogLevel: LogDebug,
		}))(t)
		equals(t, "log", lines, []string{"3 computes on " + context.DeviceName()})
		must(t, context.Close())
	}
}

// ---- images ----------------------------------------------------------------------------------

func TestImageLayout(t *testing.T) {
	nv12 := newImage(t, FormatNV12, 5, 3)
	equal(t, "planes", nv12.Format().Planes(), 2)
	equal(t, "bytes of Y", len(nv12.Pix(0)), 15)
	equal(t, "bytes of UV", len(nv12.Pix(1)), 12)
	equal(t, "stride of UV", nv12.Stride(1), 6)
	equal(t, "format", nv12.Format(), FormatNV12)
	equal(t, "size", image.Pt(nv12.Width(), nv12.Height()), image.Pt(5, 3))
	equal(t, "memory", nv12.Memory(), MemoryHost)

	size := made(ImageBytes(FormatI420, 5, 3, 8))(t)
	equal(t, "bytes of I420", size, 8*3+4*2+4*2)
	i420 := made(Wrap(FormatI420, 5, 3, make([]byte, size), 8))(t)
	equal(t, "stride of V", i420.Stride(2), 4)

	rowBytes, rows, err := FormatRGB8.Plane(0, 7, 2)
	must(t, err)
	equal(t, "row", rowBytes, 21)
	equal(t, "rows", rows, 2)
	_, _, err = FormatRGB8.Plane(1, 7, 2)
	wants(t, err, ErrInvalidArgument, "plane 1")
}

func TestImageOfSamples(t *testing.T) {
	labels := []int32{1, -2, 3, 0, 5, 6, 7, 0}
	i := made(Wrap(FormatLabel32, 3, 2, labels, 16))(t)
	equals(t, "labels", Samples[int32](i, 0), []int32{1, -2, 3, 0, 5, 6, 7})
	Samples[int32](i, 0)[0] = 9
	equal(t, "label", labels[0], 9)
	odd := made(Wrap(FormatGray8, 8, 1, make([]byte, 16)[1:9], 0))(t)
	equal(t, "samples where there can be none", Samples[uint16](odd, 0) == nil, true)
}

func TestImagesThatCannotBe(t *testing.T) {
	for _, size := range []image.Point{{0, 1}, {1, MaxSide + 1}, {-1, 1}, {math.MaxInt64, 1},
		{1 << 32, 1 << 32}} {
		_, err := NewImage(FormatGray8, size.X, size.Y)
		wants(t, err, ErrInvalidArgument, fmt.Sprintf("%d x %d", size.X, size.Y))
	}
	_, err := NewImage(Format(99), 1, 1)
	wants(t, err, ErrInvalidArgument, "format 99")
	_, err = Wrap(FormatGray8, 4, 2, make([]byte, 7), 0)
	wants(t, err, ErrInvalidArgument, "7 bytes")
	_, err = Wrap(FormatNV12, 4, 2, make([]byte, 8), 0)
	wants(t, err, ErrInvalidArgument, "plane 1 has 0 bytes")
	_, err = Wrap(FormatGray8, 4, 2, []byte(nil), 0)
	wants(t, err, ErrInvalidArgument, "0 bytes")
	_, err = Wrap(FormatGray8, 4, 2, make([]byte, 99), 3)
	wants(t, err, ErrInvalidArgument, "stride 3")
	_, err = WrapPlanes(FormatGray8, 4, 2, []Plane{{make([]byte, 99), -4}})
	wants(t, err, ErrInvalidArgument, "-4")
	_, err = WrapPlanes(FormatGray8, 4, 2, []Plane{{make([]byte, 99), math.MaxInt64}})
	wants(t, err, ErrInvalidArgument, "too few")
	_, err = WrapPlanes(FormatNV12, 4, 2, []Plane{{make([]byte, 99), 0}})
	wants(t, err, ErrInvalidArgument, "1 planes, must be 2")
	_, err = FromImage(image.NewGray(image.Rect(2, 2, 2, 5)))
	wants(t, err, ErrInvalidArgument, "empty")
	_, err = FromImage(image.NewUniform(color.White))
	wants(t, err, ErrInvalidArgument, "2000000000 x 2000000000")
	_, err = FromImage(untouchable(image.Rect(0, 0, 40000, 20000)))
	wants(t, err, ErrInvalidArgument, "40000 x 20000")
}

// untouchable is a picture of which only the size may be asked for.
type untouchable image.Rectangle

func (u untouchable) Bounds() image.Rectangle { return image.Rectangle(u) }
func (untouchable) ColorModel() color.Model   { panic("of the colour model") }
func (untouchable) At(x, y int) color.Color   { panic("of a pixel") }

func TestPlanesThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		format                Format
		width, height, stride int
		planes                int
		text                  string
	}{
		{Format(99), 4, 2, 0, 0, "format 99"},
		{Format(0), 4, 2, 0, 0, "format 0"},
		{FormatGray8, -4, 2, 0, 1, "-4 x 2"},
		{FormatGray8, 4, -2, 0, 1, "4 x -2"},
		{FormatGray8, 0, 2, 0, 1, "0 x 2"},
		{FormatGray8, MaxSide + 1, 2, 0, 1, "32768 x 2"},
		{FormatGray8, 4, 2, -4, 1, "stride of plane 0 is -4, must be at least 4"},
		{FormatGray8, 4, 2, 3, 1, "stride of plane 0 is 3, must be at least 4"},
		{FormatGray8, 4, 2, math.MinInt64, 1, "stride of plane 0"},
		{FormatGray8, 4, 2, 0, 2, "2 planes, must be 1"},
	} {
		host, device := make([]Plane, c.planes), make([]DevicePlane, c.planes)
		for i := range host {
			host[i] = Plane{make([]byte, 99), c.stride}
			device[i] = DevicePlane{0x1000, c.stride}
		}
		_, err := WrapPlanes(c.format, c.width, c.height, host)
		wants(t, err, ErrInvalidArgument, c.text)
		_, err = DevicePlanes(c.format, c.width, c.height, device, 0)
		wants(t, err, ErrInvalidArgument, c.text)
	}
	i := made(DevicePlanes(FormatGray8, 4, 2, []DevicePlane{{0x1000, 5}}, 0))(t)
	equal(t, "stride", i.Stride(0), 5)
}

func TestFromImage(t *testing.T) {
	grey := image.NewGray(image.Rect(-1, -2, 9, 8))
	part := grey.SubImage(image.Rect(3, 4, 7, 6)).(*image.Gray)
	i := made(FromImage(part))(t)
	equal(t, "size", image.Pt(i.Width(), i.Height()), image.Pt(4, 2))
	i.Pix(0)[i.Stride(0)+2] = 77
	equal(t, "pixel", grey.GrayAt(5, 5).Y, 77)
	equal(t, "back", made(i.ToImage())(t).At(2, 1), color.Color(color.Gray{77}))

	straight := image.NewNRGBA(image.Rect(0, 0, 3, 2))
	straight.SetNRGBA(1, 1, color.NRGBA{1, 2, 3, 4})
	i = made(FromImage(straight))(t)
	equal(t, "format", i.Format(), FormatRGBA8)
	equals(t, "pixel", i.Pix(0)[16:20], []byte{1, 2, 3, 4})
	equal(t, "shared", &i.Pix(0)[0] == &straight.Pix[0], true)

	multiplied := image.NewRGBA(image.Rect(0, 0, 1, 1))
	multiplied.SetRGBA(0, 0, color.RGBA{51, 17, 0, 51})
	i = made(FromImage(multiplied))(t)
	equals(t, "pixel", i.Pix(0), []byte{255, 85, 0, 51})
	multiplied.Pix[3] = 255
	i = made(FromImage(multiplied))(t)
	equal(t, "shared", &i.Pix(0)[0] == &multiplied.Pix[0], true)

	jpeg := image.NewYCbCr(image.Rect(0, 0, 6, 6), image.YCbCrSubsampleRatio420)
	quarter := jpeg.SubImage(image.Rect(2, 2, 5, 5)).(*image.YCbCr)
	i = made(FromImage(quarter))(t)
	equal(t, "format", i.Format(), FormatI420)
	equal(t, "range", i.Range, ColorRangeFull)
	equal(t, "Y", &i.Pix(0)[0] == &jpeg.Y[jpeg.YOffset(2, 2)], true)
	equal(t, "Cr", &i.Pix(2)[0] == &jpeg.Cr[jpeg.COffset(2, 2)], true)
	shifted := jpeg.SubImage(image.Rect(1, 1, 5, 5))
	equal(t, "copy", made(FromImage(shifted))(t).Format(), FormatRGBA8)

	dense := image.NewYCbCr(image.Rect(0, 0, 6, 6), image.YCbCrSubsampleRatio444)
	i = made(FromImage(dense.SubImage(image.Rect(1, 1, 5, 5))))(t)
	equal(t, "format", i.Format(), FormatY444)
	equal(t, "Cr", &i.Pix(2)[0] == &dense.Cr[7], true)

	deep := image.NewGray16(image.Rect(0, 0, 1, 1))
	deep.SetGray16(0, 0, color.Gray16{0x8000})
	equals(t, "copy", made(FromImage(deep))(t).Pix(0), []byte{0x80, 0x80, 0x80, 255})
}

func TestToImage(t *testing.T) {
	for format, pixel := range map[Format][]byte{
		FormatRGB8:  {1, 2, 3},
		FormatBGR8:  {3, 2, 1},
		FormatRGBX8: {1, 2, 3, 9},
		FormatBGRX8: {3, 2, 1, 9},
		FormatRGBA8: {1, 2, 3, 255},
		FormatBGRA8: {3, 2, 1, 255},
		FormatARGB8: {255, 1, 2, 3},
		FormatABGR8: {255, 3, 2, 1},
		FormatXRGB8: {9, 1, 2, 3},
		FormatXBGR8: {9, 3, 2, 1},
	} {
		i := made(Wrap(format, 1, 2, append(make([]byte, 8), pixel...), 8))(t)
		picture := made(i.ToImage())(t)
		equal(t, fmt.Sprint(format), picture.At(0, 1), color.Color(color.NRGBA{1, 2, 3, 255}))
	}
	_, err := newImage(t, FormatNV12, 2, 2).ToImage()
	wants(t, err, ErrUnsupported)
	_, err = made(DeviceImage(FormatGray8, 1, 1, 256, 0, 0))(t).ToImage()
	wants(t, err, ErrUnsupported)
}

func TestDeviceImage(t *testing.T) {
	i := made(DeviceImage(FormatI420, 4, 4, 0x1000, 8, 2))(t)
	equal(t, "memory", i.Memory(), MemoryCUDA)
	equal(t, "device", i.Device(), 2)
	equal(t, "U", i.Pointer(1), 0x1000+32)
	equal(t, "V", i.Pointer(2), 0x1000+32+8)
	equal(t, "pixels", i.Pix(0) == nil, true)
	_, err := DevicePlanes(FormatNV12, 4, 4, []DevicePlane{{0x1000, 0}}, 0)
	wants(t, err, ErrInvalidArgument, "1 planes")
	_, err = DeviceImage(FormatGray8, 0, 4, 0x1000, 8, 2)
	wants(t, err, ErrInvalidArgument)
}

// The CPU backend refuses CUDA memory, and Enqueue host memory, before anything runs.
func TestMemoryOfTheWrongKind(t *testing.T) {
	context := cpu(t)
	device := made(DeviceImage(FormatGray8, 4, 4, 0x1000, 0, 0))(t)
	host := newImage(t, FormatGray8, 4, 4)
	buffer := DeviceBuffer{Pointer: 0x2000, Size: 4096}

	erode := made(NewErode(context, nil))(t)
	erode.SetStream(Stream(2)) // CUDA's cudaStreamPerThread, which is no address
	wants(t, erode.Run(device, device), ErrUnsupported, "src->memory is GPV_MEMORY_CUDA")
	wants(t, erode.Enqueue(device, device), ErrUnsupported, "src")
	wants(t, erode.Enqueue(device, host), ErrInvalidArgument, "dst", "CUDA")
	ccl := made(NewCcl(context, nil))(t)
	wants(t, ccl.Enqueue(device, nil, CclBuffers{Count: buffer}), ErrUnsupported, "src")
	kmeans := made(NewKmeans(context, nil))(t)
	wants(t, kmeans.Enqueue(device, nil, device, KmeansBuffers{}), ErrUnsupported, "src")
	sift := made(NewSift(context, nil))(t)
	wants(t, sift.Enqueue(device, nil, SiftBuffers{Keypoints: buffer}), ErrUnsupported, "src")
	wants(t, sift.EnqueueDescribe(device, 1, SiftBuffers{}), ErrUnsupported, "src")
	wants(t, sift.EnqueueDraw(device, DrawStyleRich, 0), ErrUnsupported, "dst")
	match := made(NewMatch(context, nil))(t)
	wants(t, match.Enqueue(MatchBuffers{Queries: buffer, QueryCount: 1}), ErrUnsupported, "query")
	wants(t, match.EnqueueDraw(device, make([]Point, 2), 1, 0), ErrUnsupported, "dst")
	wants(t, match.Prepare(1, 1, MemoryCUDA), ErrUnsupported)
	cut := made(NewGraphcut(context, nil))(t)
	links := made(DeviceImage(FormatCap32x4, 4, 4, 0x1000, 0, 0))(t)
	terminals := made(DeviceImage(FormatLabel32, 4, 4, 0x3000, 0, 0))(t)
	wants(t, cut.Enqueue(terminals, links, device, buffer), ErrUnsupported)
	segment := made(NewSegment(context, nil))(t)
	wants(t, segment.Enqueue(device, SegmentImages{Mask: device}, buffer), ErrUnsupported, "src")
}

func TestBuffersOfNegativeSize(t *testing.T) {
	context := cpu(t)
	device := made(DeviceImage(FormatGray8, 4, 4, 0x1000, 0, 0))(t)
	buffer := DeviceBuffer{Pointer: 0x2000, Size: -5}
	ccl, kmeans := made(NewCcl(context, nil))(t), made(NewKmeans(context, nil))(t)
	sift, match := made(NewSift(context, nil))(t), made(NewMatch(context, nil))(t)
	cut, segment := made(NewGraphcut(context, nil))(t), made(NewSegment(context, nil))(t)
	for _, c := range []struct {
		name string
		err  error
	}{
		{"components", ccl.Enqueue(device, nil, CclBuffers{Components: buffer})},
		{"count", ccl.Enqueue(device, nil, CclBuffers{Count: buffer})},
		{"centroids", kmeans.Enqueue(device, nil, nil, KmeansBuffers{Centroids: buffer})},
		{"counts", kmeans.Enqueue(device, nil, nil, KmeansBuffers{Counts: buffer})},
		{"result", kmeans.Enqueue(device, nil, nil, KmeansBuffers{Result: buffer})},
		{"keypoints", sift.Enqueue(device, nil, SiftBuffers{Keypoints: buffer})},
		{"descriptors", sift.Enqueue(device, nil, SiftBuffers{Descriptors: buffer})},
		{"result", sift.Enqueue(device, nil, SiftBuffers{Result: buffer})},
		{"keypoints", sift.EnqueueDescribe(device, 1, SiftBuffers{Keypoints: buffer})},
		{"descriptors", sift.EnqueueDescribe(device, 1, SiftBuffers{Descriptors: buffer})},
		{"queries", match.Enqueue(MatchBuffers{Queries: buffer})},
		{"found", match.Enqueue(MatchBuffers{Found: buffer})},
		{"train", match.Enqueue(MatchBuffers{Train: buffer})},
		{"nearest", match.Enqueue(MatchBuffers{Nearest: buffer})},
		{"pairs", match.Enqueue(MatchBuffers{Pairs: buffer})},
		{"result", match.Enqueue(MatchBuffers{Result: buffer})},
		{"result", cut.Enqueue(device, device, device, buffer)},
		{"result", segment.Enqueue(device, SegmentImages{}, buffer)},
	} {
		wants(t, c.err, ErrInvalidArgument, "the size of "+c.name+" is -5")
	}
}

// ---- operators -------------------------------------------------------------------------------

func TestErode(t *testing.T) {
	erode := made(NewErode(open(t), nil))(t)
	src := grey(t, 5,
		9, 9, 9, 9, 9,
		9, 9, 9, 9, 9,
		9, 9, 1, 9, 9,
		9, 9, 9, 9, 9,
		9, 9, 9, 9, 9)
	dst := newImage(t, FormatGray8, 5, 5)
	must(t, erode.Prepare(src))
	must(t, erode.Run(src, dst))
	equals(t, "erosion", dst.Pix(0), []byte{
		9, 9, 9, 9, 9,
		9, 1, 1, 1, 9,
		9, 1, 1, 1, 9,
		9, 1, 1, 1, 9,
		9, 9, 9, 9, 9})
	params := DefaultErodeParams()
	params.Operation = ErodeOperationDilate
	must(t, erode.SetParams(&params))
	must(t, erode.Run(dst, dst))
	must(t, erode.Run(src, src))
	equals(t, "dilation", src.Pix(0), bytes.Repeat([]byte{9}, 25))
	must(t, erode.Wait())
	equal(t, "finished", made(erode.Query())(t), true)
	must(t, erode.SetParams(nil))

	white := newImage(t, FormatGray8, 3, 3)
	white.Pix(0)[4] = 255
	must(t, erode.Run(white, white))
	equals(t, "one white pixel", white.Pix(0), make([]byte, 9))
}

func TestErodeParams(t *testing.T) {
	equal(t, "defaults", DefaultErodeParams(), ErodeParams{
		Operation: ErodeOperationErode, Shape: ErodeShapeRect, Radius: 1, RadiusY: -1, Iterations: 1,
	})
	context := open(t)
	erode := made(NewErode(context, nil))(t)
	src := newImage(t, FormatGray8, 3, 1)
	for _, c := range []struct {
		change func(*ErodeParams)
		texts  []string
	}{
		{func(p *ErodeParams) { p.Operation = 7 }, []string{"operation is 7", "0..6"}},
		{func(p *ErodeParams) { p.Shape = 3 }, []string{"shape is 3", "0..2"}},
		{func(p *ErodeParams) { p.Radius = 256 }, []string{"radius is 256", "0..255"}},
		{func(p *ErodeParams) { p.RadiusY = -2 }, []string{"radius_y is -2", "-1..255"}},
		{func(p *ErodeParams) { p.Iterations = 0 }, []string{"iterations is 0", "1..255"}},
		{func(p *ErodeParams) { p.Iterations = 1 << 40 }, []string{"iterations is 2147483647"}},
		{func(p *ErodeParams) { p.Threshold = -1 }, []string{"threshold is -1", "0..65535"}},
		{func(p *ErodeParams) { p.Border = 2 }, []string{"border is 2", "0..1"}},
		{func(p *ErodeParams) { p.Planes = 3 }, []string{"planes is 3", "0..2"}},
	} {
		params := DefaultErodeParams()
		c.change(&params)
		_, err := NewErode(context, &params)
		wants(t, err, ErrInvalidArgument, c.texts...)
		wants(t, erode.SetParams(&params), ErrInvalidArgument, c.texts...)
	}
	wants(t, erode.Run(nil, src), ErrInvalidArgument, "src is NULL")
	wants(t, erode.Run(src, nil), ErrInvalidArgument, "dst is NULL")
	wants(t, erode.Run(src, &Image{}), ErrInvalidArgument, "dst->format is 0")
	wants(t, erode.Run(src, newImage(t, FormatGray8, 3, 2)), ErrInvalidArgument, "dst is 3x2")
	wants(t, erode.Run(newImage(t, FormatLabel32, 3, 1), src), ErrUnsupported, "LABEL32")
	src.Range = 7
	wants(t, erode.Run(src, src), ErrInvalidArgument, "src->color_range is 7")
}

func TestStrides(t *testing.T) {
	erode := made(NewErode(open(t), nil))(t)
	pix := bytes.Repeat([]byte{200}, 5+2*8+3)
	src := made(Wrap(FormatGray8, 3, 3, pix[5:], 8))(t)
	src.Pix(0)[0] = 7
	other := bytes.Repeat([]byte{99}, 3*4)
	dst := made(Wrap(FormatGray8, 3, 3, other, 4))(t)
	must(t, erode.Run(src, dst))
	equals(t, "erosion", other, []byte{
		7, 7, 200, 99,
		7, 7, 200, 99,
		200, 200, 200, 99})
}

func TestSeparatePlanes(t *testing.T) {
	erode := made(NewErode(open(t), nil))(t)
	y, uv := []byte{9, 9, 9, 9, 1, 9, 9, 9, 9, 9, 9, 9}, []byte{1, 2, 3, 4, 0, 0, 5, 6, 7, 8}
	src := made(WrapPlanes(FormatNV12, 4, 3, []Plane{{y, 0}, {uv, 6}}))(t)
	dst := newImage(t, FormatNV12, 4, 3)
	must(t, erode.Run(src, dst))
	equals(t, "Y", dst.Pix(0), []byte{1, 1, 9, 9, 1, 1, 9, 9, 1, 1, 9, 9})
	equals(t, "UV", dst.Pix(1), []byte{1, 2, 3, 4, 5, 6, 7, 8})
}

// Pictures of 4 x 2 pixels, whose left half has one colour and the right half another: capital
// letters are samples of the left one, and . of none. What is of one group has the same pixels.
func TestLayouts(t *testing.T) {
	type layout struct {
		format  Format
		letters string
	}
	levels := []byte{200, 40, 90, 20, 180, 120, 150, 100, 170, 60, 140, 110, 7}
	params := DefaultKmeansParams()
	params.Clusters = 2
	kmeans := made(NewKmeans(open(t), &params))(t)
	for _, group := range [][]layout{{
		{FormatRGB8, "RGBRGBrgbrgbRGBRGBrgbrgb"},
		{FormatARGB8, ".RGB.RGB.rgb.rgb.RGB.RGB.rgb.rgb"},
		{FormatABGR8, ".BGR.BGR.bgr.bgr.BGR.BGR.bgr.bgr"},
		{FormatXRGB8, ".RGB.RGB.rgb.rgb.RGB.RGB.rgb.rgb"},
		{FormatXBGR8, ".BGR.BGR.bgr.bgr.BGR.BGR.bgr.bgr"},
		{FormatRGBP8, "RRrrRRrrGGggGGggBBbbBBbb"},
	}, {
		{FormatNV12, "YYyyYYyyUVuv"},
		{FormatNV21, "YYyyYYyyVUvu"},
		{FormatYUY2, "YUYVyuyvYUYVyuyv"},
		{FormatUYVY, "UYVYuyvyUYVYuyvy"},
		{FormatY444, "YYyyYYyyUUuuUUuuVVvvVVvv"},
		{FormatP016, "YYyyYYyyUVuv"},
	}, {
		{FormatGray8, "YYyyYYyy"},
		{FormatGray16, "YYyyYYyy"},
	}} {
		var wanted string
		for _, one := range group {
			samples := make([]uint16, len(one.letters))
			pix := make([]byte, len(samples))
			for n, letter := range one.letters {
				pix[n] = levels[strings.IndexRune("RGBrgbYUVyuv.", letter)]
				samples[n] = uint16(pix[n]) * 256
				if one.format == FormatGray16 {
					samples[n] += uint16(pix[n])
				}
			}
			src, err := Wrap(one.format, 4, 2, pix, 0)
			if one.format == FormatP016 || one.format == FormatGray16 {
				src, err = Wrap(one.format, 4, 2, samples, 0)
			}
			must(t, err)
			labels, dst := newImage(t, FormatGray8, 4, 2), newImage(t, one.format, 4, 2)
			result := made(kmeans.Run(src, labels, dst))(t)
			equal(t, "inertia", result.Inertia, 0)
			for n := 0; n < one.format.Planes(); n++ {
				equals(t, fmt.Sprintf("plane of format %d", one.format), dst.Pix(n), src.Pix(n))
			}
			found := fmt.Sprint(labels.Pix(0), result.Centroids)
			if wanted == "" {
				wanted = found
			}
			equal(t, fmt.Sprintf("format %d", one.format), found, wanted)
		}
	}
}

func TestMemoryBesidePointers(t *testing.T) {
	type frame struct {
		name *string
		pix  [9]byte
		next *frame
	}
	name := "frame"
	f := &frame{name: &name, next: &frame{name: &name}}
	i := made(Wrap(FormatGray8, 3, 3, f.pix[:], 0))(t)
	fill(i, image.Rect(0, 0, 3, 3), 5)
	erode := made(NewErode(open(t), nil))(t)
	must(t, erode.Run(i, i))
	equal(t, "pixel", f.pix[8], 5)
}

func TestCcl(t *testing.T) {
	context := open(t)
	ccl := made(NewCcl(context, nil))(t)
	src := newImage(t, FormatGray8, 20, 10)
	first, second := image.Rect(2, 1, 5, 4), image.Rect(10, 3, 14, 8)
	fill(src, first, 255)
	fill(src, second, 1)
	dst := newImage(t, FormatLabel32, 20, 10)
	must(t, ccl.Prepare(src, dst, 8))
	components := make([]Component, 8)
	equal(t, "result", made(ccl.Run(src, dst, components))(t), CclResult{2, 2})
	equal(t, "first", components[0].Bounds(), first)
	equal(t, "area", components[0].Area, 9)
	equal(t, "second", components[1].Bounds(), second)
	equal(t, "area", components[1].Area, 20)
	equal(t, "third", components[2], Component{})
	x, y := components[1].Centroid()
	equal(t, "x", x, 11.5)
	equal(t, "y", y, 5)
	labels := Samples[int32](dst, 0)
	equals(t, "labels", []int32{labels[0], labels[20+2], labels[3*20+13]}, []int32{0, 1, 2})

	equal(t, "count alone", made(ccl.Run(src, nil, nil))(t), CclResult{2, 0})
	equal(t, "waited", made(ccl.Wait())(t), CclResult{2, 0})
	equal(t, "finished", made(ccl.Query())(t), true)

	result, err := ccl.Run(src, nil, components[:1])
	wants(t, err, ErrTooSmall)
	equal(t, "too small", result, CclResult{2, 1})
	_, err = ccl.Query()
	wants(t, err, ErrTooSmall)

	params := DefaultCclParams()
	equal(t, "defaults", params, CclParams{Connectivity: 8, Threshold: 1, Foreground: -1})
	params.Threshold = 2
	params.Output = CclOutputMask
	must(t, ccl.SetParams(&params))
	mask := newImage(t, FormatGray8, 20, 10)
	equal(t, "bright", made(ccl.Run(src, mask, components))(t), CclResult{1, 1})
	equal(t, "mask", bytes.Count(mask.Pix(0), []byte{255}), 9)
	params.Connectivity = 6
	_, err = NewCcl(context, &params)
	wants(t, err, ErrInvalidArgument, "params->connectivity is 6", "4", "8")
	wants(t, ccl.Enqueue(src, nil, CclBuffers{}), ErrInvalidArgument, "src")
}

func TestCclOfSixteenBits(t *testing.T) {
	ccl := made(NewCcl(open(t), nil))(t)
	src := made(Wrap(FormatGray16, 4, 1, []uint16{0, 1, 0, 65535}, 0))(t)
	dst := newImage(t, FormatGray16, 4, 1)
	equal(t, "count", made(ccl.Run(src, dst, nil))(t).Count, 2)
	equals(t, "labels", Samples[uint16](dst, 0), []uint16{0, 1, 0, 2})
}

func TestKmeans(t *testing.T) {
	context := open(t)
	params := DefaultKmeansParams()
	equal(t, "defaults", params, KmeansParams{
		Clusters: 8, MaxClusters: 16, MaxIterations: 20, Tolerance: 0.5,
	})
	params.Clusters = 2
	kmeans := made(NewKmeans(context, &params))(t)
	pix := []byte{250, 10, 20, 250, 10, 20, 0, 100, 200, 250, 10, 20}
	src := made(Wrap(FormatRGB8, 2, 2, pix, 0))(t)
	labels, dst := newImage(t, FormatGray8, 2, 2), newImage(t, FormatRGB8, 2, 2)
	must(t, kmeans.Prepare(src, labels, dst))
	result := made(kmeans.Run(src, labels, dst))(t)
	equal(t, "clusters", result.Clusters, 2)
	equal(t, "inertia", result.Inertia, 0)
	equal(t, "empty", result.Empty, 0)
	equal(t, "converged", result.Converged, true)
	equals(t, "recoloured", dst.Pix(0), pix)
	red, blue := labels.Pix(0)[0], labels.Pix(0)[2]
	equals(t, "labels", labels.Pix(0), []byte{red, red, 1 - red, red})
	equal(t, "red", KmeansColorSpaceRGB.Color(result.Centroids[red]), 0xfa0a14)
	equal(t, "blue", KmeansColorSpaceRGB.Color(result.Centroids[blue]), 0x0064c8)
	equal(t, "reds", result.Counts[red], 3)
	equal(t, "blues", result.Counts[blue], 1)
	waited := made(kmeans.Wait())(t)
	equal(t, "waited", waited.Clusters, 2)
	equal(t, "finished", made(kmeans.Query())(t), true)

	params.Init = KmeansInitGiven
	must(t, kmeans.SetParams(&params))
	_, err := kmeans.Run(src, nil, nil)
	wants(t, err, ErrInvalidArgument)
	must(t, kmeans.SetCentroids([]Centroid{{0, 0, 255}, {255, 0, 0}}))
	must(t, kmeans.must(kmeans.Run(src, labels, nil)))
	equals(t, "labels as given", labels.Pix(0), []byte{1, 1, 0, 1})
	wants(t, kmeans.SetCentroids([]Centroid{{0, 0, 256}, {}}), ErrInvalidArgument, "256", "0..255")
	wants(t, kmeans.SetCentroids(nil), ErrInvalidArgument)
	params.Clusters = 257
	wants(t, kmeans.SetParams(&params), ErrInvalidArgument, "params->clusters is 257", "256")
	wants(t, kmeans.Enqueue(src, nil, nil, KmeansBuffers{}), ErrInvalidArgument, "src")
}

// must drops the result.
func (k *Kmeans) must(_ KmeansResult, err error) error {
	return err
}

func TestSift(t *testing.T) {
	context := open(t)
	equal(t, "defaults", DefaultSiftParams(), SiftParams{
		OctaveLayers: 3, ContrastThreshold: 0.04, EdgeThreshold: 10, Sigma: 1.6, Upsample: true,
	})
	sift := made(NewSift(context, nil))(t)
	src := blob(t, 64, 60, 32, 29, 4)
	must(t, sift.Prepare(src, nil, 16))
	keypoints, descriptors := make([]Keypoint, 16), make([]Descriptor, 16)
	result := made(sift.Run(src, nil, keypoints, descriptors))(t)
	if result.Count < 1 || result.Dropped != 0 {
		t.Fatalf("result is %v", result)
	}
	strongest := keypoints[0]
	if math.Hypot(float64(strongest.X)-32, float64(strongest.Y)-29) > 0.5 ||
		strongest.Sigma < 3 || strongest.Sigma > 6 {
		t.Errorf("the strongest is %+v", strongest)
	}
	equal(t, "waited", made(sift.Wait())(t), result)
	equal(t, "finished", made(sift.Query())(t), true)

	again := make([]Descriptor, result.Count)
	drawn := newImage(t, FormatGray8, 64, 60)
	must(t, sift.Draw(drawn, DrawStylePoints, 0xffffff))
	equal(t, "middle of a cross", drawn.Pix(0)[29*64+32], 255)
	wants(t, sift.Draw(drawn, 2, 0), ErrInvalidArgument, "style is 2", "0..1")
	wants(t, sift.Draw(drawn, 0, 1<<24), ErrInvalidArgument, "color")
	must(t, sift.Describe(src, keypoints[:result.Count], again))
	equals(t, "descriptors", again, descriptors[:result.Count])
	must(t, sift.Describe(src, nil, nil))
	wants(t, sift.Describe(src, keypoints[:2], again[:1]), ErrInvalidArgument, "descriptors")

	mask := newImage(t, FormatGray8, 64, 60)
	equal(t, "masked", made(sift.Run(src, mask, keypoints, nil))(t).Count, 0)
	_, err := sift.Run(src, newImage(t, FormatGray8, 64, 59), keypoints, nil)
	wants(t, err, ErrInvalidArgument, "mask is 64x59")
	_, err = sift.Run(src, nil, nil, descriptors)
	wants(t, err, ErrInvalidArgument, "keypoints is NULL")
	wants(t, sift.EnqueueDraw(drawn, DrawStylePoints, 0), ErrInvalidArgument, "dst")
	wants(t, sift.Enqueue(src, nil, SiftBuffers{}), ErrInvalidArgument, "src")
	wants(t, sift.EnqueueDescribe(src, 0, SiftBuffers{}), ErrInvalidArgument, "src")
}

func TestSiftOfFloats(t *testing.T) {
	params := DefaultSiftParams()
	params.DescriptorType = SiftDescriptorTypeF32
	sift := made(NewSift(open(t), &params))(t)
	src := noise(t, 80, 60)
	keypoints, descriptors := make([]Keypoint, 50), make([]DescriptorF32, 50)
	result := made(sift.RunF32(src, nil, keypoints, descriptors))(t)
	if result.Count < 5 {
		t.Fatalf("result is %v", result)
	}
	length := 0.0
	for _, number := range descriptors[0] {
		length += float64(number) * float64(number)
	}
	if math.Abs(length-1) > 1e-3 {
		t.Errorf("length of a descriptor is %v", math.Sqrt(length))
	}
	again := make([]DescriptorF32, result.Count)
	must(t, sift.DescribeF32(src, keypoints[:result.Count], again))
	equal(t, "described", again[0], descriptors[0])
	_, err := sift.Run(src, nil, keypoints, make([]Descriptor, 1000))
	wants(t, err, ErrInvalidArgument, "type of descriptors is 0", "parameters is 1")
	must(t, sift.SetParams(nil))
	wants(t, sift.DescribeF32(src, keypoints[:1], again), ErrInvalidArgument, "type")
	params.Sigma = 9
	wants(t, sift.SetParams(&params), ErrInvalidArgument, "params->sigma is 9", "0.5..4")
	must(t, sift.Describe(src, keypoints[:1], make([]Descriptor, 1)))
}

// So many extrema that an operator does not keep them: in a lattice, one for 8 pixels.
func TestSiftOfTooMuch(t *testing.T) {
	params := DefaultSiftParams()
	params.Upsample = false
	params.Octaves = 1
	params.Sigma = 0.75
	params.ContrastThreshold = 0.01
	params.Upright = true
	sift := made(NewSift(open(t), &params))(t)
	src := newImage(t, FormatGray8, 1024, 1024)
	for i := range src.Pix(0) {
		x, y := i%4, i/1024%4
		src.Pix(0)[i] = byte(128 + 50*(2-abs(x-2)-abs(y-2))) // from 228 down to 28
	}
	result, err := sift.Run(src, nil, make([]Keypoint, 9), nil)
	wants(t, err, ErrTooSmall, "extrema", "contrast_threshold")
	equal(t, "count", result.Count, 0)
	equal(t, "said how many", result.Dropped > 65536, true)
	must(t, sift.Draw(src, DrawStylePoints, 0))
	_, err = sift.Wait()
	wants(t, err, ErrTooSmall)
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

func TestMatch(t *testing.T) {
	context := open(t)
	sift := made(NewSift(context, nil))(t)
	equal(t, "defaults", DefaultMatchParams(), MatchParams{Ratio: 0.8, Mutual: true})
	match := made(NewMatch(context, nil))(t)
	keypoints, set := make([]Keypoint, 100), make([]Descriptor, 100)
	set = set[:made(sift.Run(noise(t, 160, 120), nil, keypoints, set))(t).Count]
	if len(set) < 20 {
		t.Fatalf("there are %d keypoints", len(set))
	}
	must(t, match.Prepare(len(set), len(set), MemoryHost))
	nearest, pairs := make([]Nearest, len(set)), make([]Pair, len(set))
	result := made(match.Run(set, set, nearest, pairs))(t)
	equal(t, "result", result, MatchResult{Count: len(set), Queries: len(set)})
	for i := range set {
		pair := pairs[i]
		if pair.Query != int32(i) || pair.Train != int32(i) || pair.Distance != 0 ||
			pair.Second <= 0 {
			t.Errorf("pair %d is %+v", i, pair)
		}
		equal(t, "index", nearest[i].Index[0], int32(i))
		equal(t, "second", nearest[i].Distance[1], pair.Second)
	}
	equal(t, "room", made(match.Run(set, set, nil, pairs[:3]))(t),
		MatchResult{Count: 3, Dropped: len(set) - 3, Queries: len(set)})
	equal(t, "waited", made(match.Wait())(t).Count, 3)
	equal(t, "finished", made(match.Query())(t), true)
	equal(t, "no others", made(match.Run(set, nil, nearest, pairs))(t).Count, 0)
	equal(t, "index of none", nearest[0], Nearest{[2]int32{-1, -1},
		[2]int32{math.MaxInt32, math.MaxInt32}})
	equal(t, "nothing at all", made(match.Run(nil, nil, nil, nil))(t), MatchResult{})
	_, err := match.Run(set, set, nearest[:1], nil)
	wants(t, err, ErrInvalidArgument, "nearest->size")
	wants(t, match.SetParams(&MatchParams{Ratio: 2}), ErrInvalidArgument, "params->ratio is 2")
	must(t, match.SetParams(&MatchParams{}))

	dst := newImage(t, FormatGray8, 9, 9)
	must(t, match.Draw(dst, []Point{{2, 4}, {6, 4}}, 1, 0xffffff))
	equal(t, "line", bytes.Count(dst.Pix(0), []byte{255}), 5)
	equal(t, "its end", dst.Pix(0)[4*9+6], 255)
	wants(t, match.Draw(dst, nil, 1, 0), ErrInvalidArgument)
	wants(t, match.Draw(dst, make([]Point, 65), 1, 0), ErrInvalidArgument, "65", "2..64")
	wants(t, match.EnqueueDraw(dst, nil, 1, 0), ErrInvalidArgument, "dst", "CUDA")
}

func TestHomography(t *testing.T) {
	context := open(t)
	equal(t, "defaults", DefaultHomographyParams(),
		HomographyParams{Threshold: 3, Confidence: 0.999, MaxIterations: 10000})
	var from, to []Point
	for i := 0; i < 40; i++ {
		p := Point{float32(i * 37 % 101), float32(i * 53 % 97)}
		from, to = append(from, p), append(to, Point{p.X + 5, p.Y - 3})
	}
	to[7] = Point{500, 500}
	found := made(context.FindHomography(nil, from, to))(t)
	equal(t, "found", found.Found, true)
	equal(t, "inliers", found.Inliers, 39)
	for i, want := range []float64{1, 0, 5, 0, 1, -3, 0, 0, 1} {
		if math.Abs(found.Matrix[i]-want) > 1e-4 {
			t.Errorf("matrix is %v", found.Matrix)
			break
		}
	}
	if found.Error > 1e-3 {
		t.Errorf("error is %v", found.Error)
	}
	for i, fits := range found.Fits {
		equal(t, fmt.Sprint("fit of pair ", i), fits, i != 7)
	}
	equal(t, "found of none", made(context.FindHomography(nil, nil, nil))(t).Found, false)
	_, err := context.FindHomography(nil, from, to[1:])
	wants(t, err, ErrInvalidArgument, "40", "39")
	params := DefaultHomographyParams()
	params.MaxIterations = 0
	_, err = context.FindHomography(&params, from, to)
	wants(t, err, ErrInvalidArgument, "params->max_iterations is 0", "1..1000000")
}

func TestGraphcut(t *testing.T) {
	context := open(t)
	equal(t, "defaults", DefaultGraphcutParams(), GraphcutParams{})
	cut := made(NewGraphcut(context, &GraphcutParams{Certificate: true, MaxTime: time.Minute}))(t)
	terminals := made(Wrap(FormatLabel32, 3, 1, []int32{10, 0, -10}, 0))(t)
	links := newImage(t, FormatCap32x4, 3, 1)
	copy(Samples[int32](links, 0), []int32{7, 4, -1}) // to the east; the last leads nowhere
	mask := newImage(t, FormatGray8, 3, 1)
	must(t, cut.Prepare(links))
	result := made(cut.Run(terminals, links, mask))(t)
	equal(t, "result", result, GraphcutResult{Optimal: true, Flow: 4, Cut: 4, Area: 2})
	equals(t, "mask", mask.Pix(0), []byte{255, 255, 0})
	equal(t, "waited", made(cut.Wait())(t), result)
	equal(t, "finished", made(cut.Query())(t), true)
	must(t, cut.SetParams(nil))
	equal(t, "cut without certificate", made(cut.Run(terminals, links, mask))(t).Cut, -1)

	Samples[int32](links, 0)[1] = -1
	result, err := cut.Run(terminals, links, mask)
	wants(t, err, ErrInvalidArgument, "plane 0 of links is -1 at (1, 0), must be 0..67108863")
	equal(t, "refused", result, GraphcutResult{Refused: true})
	wants(t, cut.SetParams(&GraphcutParams{MaxTime: -time.Second}), ErrInvalidArgument,
		"params->max_time_us is -1000000")
	wants(t, cut.SetParams(&GraphcutParams{MaxTime: math.MinInt64}), ErrInvalidArgument)
	wants(t, cut.Enqueue(terminals, links, mask, DeviceBuffer{}), ErrInvalidArgument, "terminals")
}

func TestExpansion(t *testing.T) {
	context := open(t)
	equal(t, "defaults", DefaultExpansionParams(), ExpansionParams{Cycles: 3})
	expansion := made(NewExpansion(context, nil))(t)
	costs := []*Image{made(Wrap(FormatLabel32, 3, 1, []int32{0, 5, 0}, 0))(t),
		made(Wrap(FormatLabel32, 3, 1, []int32{9, 3, 9}, 0))(t)}
	links := newImage(t, FormatCap32x4, 3, 1)
	copy(Samples[int32](links, 0), []int32{2, 2, -1}) // to the east; the last leads nowhere
	labels := newImage(t, FormatGray8, 3, 1)
	must(t, expansion.Prepare(links, 2))
	result := made(expansion.Run(costs, links, labels))(t)
	equal(t, "result", result, ExpansionResult{Converged: true, StartEnergy: 7, Energy: 5, Moves: 1})
	equals(t, "labels", labels.Pix(0), []byte{0, 0, 0})
	equal(t, "waited", made(expansion.Wait())(t), result)
	equal(t, "finished", made(expansion.Query())(t), true)
	must(t, expansion.SetParams(nil))

	Samples[int32](links, 0)[1] = -1
	result, err := expansion.Run(costs, links, labels)
	wants(t, err, ErrInvalidArgument, "plane 0 of links is -1 at (1, 0), must be 0..67108863")
	equal(t, "refused", result, ExpansionResult{Refused: true})
	_, err = expansion.Run(costs[:1], links, labels)
	wants(t, err, ErrInvalidArgument, "1 labels", "2..16")
	_, err = expansion.Run([]*Image{nil, costs[0]}, links, labels)
	wants(t, err, ErrInvalidArgument, "costs[0] is nil")
	wants(t, expansion.SetParams(&ExpansionParams{Cycles: 11}), ErrInvalidArgument,
		"params->cycles is 11", "1..10")
	wants(t, expansion.Enqueue(costs, links, labels, DeviceBuffer{}), ErrInvalidArgument, "links")
}

func TestSegment(t *testing.T) {
	context := open(t)
	params := DefaultSegmentParams()
	equal(t, "defaults", params, SegmentParams{Connectivity: 4, Iterations: 5, Lambda: 0.01})
	params.Certificate = true
	segment := made(NewSegment(context, &params))(t)
	src := newImage(t, FormatRGB8, 4, 2)
	for i := range src.Pix(0) {
		src.Pix(0)[i] = 100
	}
	seeds := grey(t, 4,
		255, 0, SegmentSeedForeground, 0,
		0, 255, 0, SegmentSeedProbablyForeground)
	mask, dst := newImage(t, FormatGray8, 4, 2), newImage(t, FormatRGB8, 4, 2)
	images := SegmentImages{Seeds: seeds, Mask: mask, Dst: dst}
	must(t, segment.Prepare(src, images))
	result := made(segment.Run(src, images))(t)
	equals(t, "mask", mask.Pix(0), []byte{255, 0, 255, 0, 0, 255, 0, 0}) // what is probable may change
	equals(t, "overlay", dst.Pix(0)[:6], []byte{100, 100, 100, 50, 50, 50})
	equal(t, "area", result.Area, 3)
	equal(t, "optimal", result.Optimal && result.Cut == result.Flow, true)
	equal(t, "waited", made(segment.Wait())(t), result)
	equal(t, "finished", made(segment.Query())(t), true)

	rect := image.Rect(1, 0, 4, 2)
	made(segment.Run(src, SegmentImages{Seeds: seeds, Rect: &rect, Mask: mask}))(t)
	equals(t, "mask in the rectangle", mask.Pix(0), []byte{0, 0, 255, 0, 0, 255, 0, 0})
	rect.Max.X = 5
	_, err := segment.Run(src, SegmentImages{Rect: &rect})
	wants(t, err, ErrInvalidArgument, "rect")
	equal(t, "learned", made(segment.Learned())(t), true)
	must(t, segment.Forget())
	equal(t, "learned", made(segment.Learned())(t), false)
	params.Iterations = 101
	wants(t, segment.SetParams(&params), ErrInvalidArgument, "params->iterations is 101", "1..100")
	wants(t, segment.Enqueue(src, SegmentImages{}, DeviceBuffer{}), ErrInvalidArgument, "src")
}

// ---- goroutines and lives --------------------------------------------------------------------

func TestGoroutines(t *testing.T) {
	context := open(t)
	erode, ccl := made(NewErode(context, nil))(t), made(NewCcl(context, nil))(t)
	src := newImage(t, FormatGray8, 64, 64)
	fill(src, image.Rect(10, 10, 20, 20), 200)
	var group sync.WaitGroup
	for n := 0; n < 16; n++ {
		group.Add(1)
		go func() {
			defer group.Done()
			dst, err := NewImage(FormatGray8, 64, 64)
			if err != nil {
				t.Error(err)
				return
			}
			kmeans, err := NewKmeans(context, &KmeansParams{Clusters: 2, MaxClusters: 2})
			if err != nil {
				t.Error(err)
				return
			}
			defer kmeans.Close()
			components := make([]Component, 4)
			for i := 0; i < 20; i++ {
				if err := erode.Run(src, dst); err != nil {
					t.Error(err)
				}
				result, err := ccl.Run(dst, nil, components)
				if err != nil || result.Count != 1 || components[0].Area != 64 {
					t.Error(result, components[0], err)
				}
				clusters, err := kmeans.Run(dst, nil, nil)
				if err != nil || clusters.Clusters != 2 {
					t.Error(clusters, err)
				}
				// The text is that of the own failure.
				_, err = NewErode(context, &ErodeParams{Radius: 300 + i})
				wants(t, err, ErrInvalidArgument, fmt.Sprintf("radius is %d,", 300+i))
			}
		}()
	}
	group.Wait()
}

func TestClose(t *testing.T) {
	context := open(t)
	erode, ccl := made(NewErode(context, nil))(t), made(NewCcl(context, nil))(t)
	i := newImage(t, FormatGray8, 4, 4)
	must(t, erode.Run(i, i))
	must(t, erode.Close())
	must(t, erode.Close())
	for _, err := range []error{erode.Run(i, i), erode.Wait(), erode.SetParams(nil)} {
		equal(t, "error", err, ErrClosed)
	}
	must(t, context.Close())
	must(t, context.Close())
	_, err := ccl.Run(i, nil, nil)
	equal(t, "error", err, ErrClosed)
	_, err = ccl.Query()
	equal(t, "error", err, ErrClosed)
	_, err = NewSift(context, nil)
	equal(t, "error", err, ErrClosed)
	_, err = context.FindHomography(nil, nil, nil)
	equal(t, "error", err, ErrClosed)
	equal(t, "error", context.Sync(DefaultStream), ErrClosed)
	equal(t, "error", context.Follow(DefaultStream, DefaultStream), ErrClosed)
	equal(t, "objects", context.objects, 1)
	must(t, ccl.Close())
	must(t, ccl.Close())
	equal(t, "objects", context.objects, 0)
	if context.DeviceName() == "" || context.Backend() == BackendAuto {
		t.Error("a closed context does not know what it was")
	}
}

// A copy of an operator, as of an os.File, is the same operator.
func TestCopies(t *testing.T) {
	context := open(t)
	i := newImage(t, FormatGray8, 16, 16)
	erode, ccl := made(NewErode(context, nil))(t), made(NewCcl(context, nil))(t)
	kmeans, sift := made(NewKmeans(context, nil))(t), made(NewSift(context, nil))(t)
	match, cut := made(NewMatch(context, nil))(t), made(NewGraphcut(context, nil))(t)
	segment := made(NewSegment(context, nil))(t)
	copies := struct { // by value
		Erode
		Ccl
		Kmeans
		Sift
		Match
		Graphcut
		Segment
	}{*erode, *ccl, *kmeans, *sift, *match, *cut, *segment}
	must(t, copies.Erode.Run(i, i))

	// What was set by one is set for the other.
	params := DefaultSiftParams()
	params.DescriptorType = SiftDescriptorTypeF32
	must(t, copies.Sift.SetParams(&params))
	_, err := sift.Run(i, nil, make([]Keypoint, 9), make([]Descriptor, 9))
	wants(t, err, ErrInvalidArgument, "parameters is 1")

	for _, original := range []interface{ Close() error }{erode, ccl, kmeans, sift, match, cut,
		segment} {
		must(t, original.Close())
	}
	_, errCcl := copies.Ccl.Run(i, nil, nil)
	_, errKmeans := copies.Kmeans.Run(i, nil, nil)
	_, errSift := copies.Sift.Run(i, nil, nil, nil)
	_, errMatch := copies.Match.Run(nil, nil, nil, nil)
	_, errCut := copies.Graphcut.Run(i, i, i)
	_, errSegment := copies.Segment.Run(i, SegmentImages{})
	for _, err := range []error{copies.Erode.Run(i, i), errCcl, errKmeans, errSift, errMatch,
		errCut, errSegment} {
		equal(t, "error", err, ErrClosed)
	}
	must(t, copies.Erode.Close())
	equal(t, "objects", context.objects, 1)
}

// A copy alone keeps the operator.
func TestCopyKeepsOperator(t *testing.T) {
	context := open(t)
	erode := *made(NewErode(context, nil))(t)
	collect()
	i := newImage(t, FormatGray8, 4, 4)
	must(t, erode.Run(i, i))
	must(t, erode.Close())
}

// collect gives finalizers of what is garbage now some time to run.
func collect() {
	for i := 0; i < 5; i++ {
		runtime.GC()
		time.Sleep(2 * time.Millisecond)
	}
}

// abandon makes one of each, runs some, and drops them.
func abandon(t *testing.T, context *Context) {
	t.Helper()
	i := newImage(t, FormatGray8, 32, 32)
	made(NewErode(context, nil))(t).Run(i, i)
	made(NewCcl(context, nil))(t).Run(i, nil, make([]Component, 9))
	made(NewKmeans(context, nil))(t).Run(i, nil, i)
	made(NewSift(context, nil))(t).Run(i, nil, make([]Keypoint, 9), make([]Descriptor, 9))
	made(NewMatch(context, nil))(t)
	made(NewGraphcut(context, nil))(t)
	made(NewSegment(context, nil))(t).Run(i, SegmentImages{Dst: i})
}

// eventually collects garbage until it is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		runtime.GC()
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

func TestGarbage(t *testing.T) {
	context := open(t)
	for i := 0; i < 5; i++ {
		abandon(t, context)
		runtime.GC()
	}
	eventually(t, "operators are not destroyed", func() bool {
		context.mutex.Lock()
		defer context.mutex.Unlock()
		return context.objects == 1
	})

	// Of an abandoned context the handle of its logger is what can still be asked.
	dropped := made(NewContext(&ContextParams{Backend: BackendCPU}))(t)
	abandon(t, dropped)
	log := dropped.log
	dropped = nil
	eventually(t, "a context is not destroyed", func() (gone bool) {
		defer func() { gone = recover() != nil }()
		log.Value()
		return false
	})
}

// An operator alone keeps its context.
func TestOperatorKeepsContext(t *testing.T) {
	erode := made(NewErode(made(NewContext(&ContextParams{Backend: BackendCPU}))(t), nil))(t)
	collect()
	i := newImage(t, FormatGray8, 4, 4)
	must(t, erode.Run(i, i))
	must(t, erode.Close())
}

// Other finalizers run while those of operators wait for a context that is in use.
func TestFinalizersDoNotWait(t *testing.T) {
	context := open(t)
	abandon(t, context)
	context.mutex.Lock()
	defer context.mutex.Unlock()
	collect()
	_, dead := mortal(t)
	eventually(t, "finalizers wait for a context", dead.Load)
}

// mortal makes an image, and says whether its memory has died.
func mortal(t *testing.T) (*Image, *atomic.Bool) {
	t.Helper()
	pix, dead := new([4096]byte), new(atomic.Bool)
	runtime.SetFinalizer(pix, func(*[4096]byte) { dead.Store(true) })
	return made(Wrap(FormatGray8, 64, 64, pix[:], 0))(t), dead
}

// viewed is views of an image and a buffer that nothing else refers to.
func viewed(t *testing.T) (v *views, image, buffer *atomic.Bool) {
	t.Helper()
	v = newViews()
	i, image := mortal(t)
	b, buffer := mortal(t)
	v.image(i)
	v.buffer(b.Pix(0))
	return v, image, buffer
}

func TestViewsKeepMemory(t *testing.T) {
	v, image, buffer := viewed(t)
	collect()
	equal(t, "the image is dead", image.Load(), false)
	equal(t, "the buffer is dead", buffer.Load(), false)
	v.free()
	eventually(t, "the memory of the image lives on", image.Load)
	eventually(t, "the memory of the buffer lives on", buffer.Load)
}

// What a run may still write lives until a run has succeeded, or Close.
func TestMemoryOfRunsThatMayNotBeOver(t *testing.T) {
	context := open(t)
	i := newImage(t, FormatGray8, 4, 4)
	for status, held := range map[Status]bool{
		0:                  false,
		ErrInvalidArgument: false,
		ErrUnsupported:     false,
		ErrTooSmall:        false,
		ErrOutOfMemory:     true,
		ErrDevice:          true,
		ErrDeviceLost:      true,
		ErrInternal:        true,
	} {
		for _, end := range []string{"run", "close"} {
			erode := made(NewErode(context, nil))(t)
			v, image, buffer := viewed(t)
			erode.settle(v, status)
			if held {
				wants(t, erode.Run(nil, i), ErrInvalidArgument) // says nothing of the run before
				collect()
				equal(t, status.Error()+": dead", image.Load() || buffer.Load(), false)
				if end == "run" {
					must(t, erode.Run(i, i))
				} else {
					must(t, erode.Close())
				}
			}
			equal(t, status.Error()+": held", len(erode.held), 0)
			eventually(t, status.Error()+": the memory lives on after "+end, func() bool {
				return image.Load() && buffer.Load()
			})
			must(t, erode.Close())
		}
	}
}

// Memory moves and dies around a run, if anything does.
func TestCollectionsDuringRuns(t *testing.T) {
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Add(1)
	go func() {
		defer group.Done()
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	erode := made(NewErode(open(t), nil))(t)
	for i := 0; i < 50; i++ {
		src, dst := newImage(t, FormatGray8, 200, 200), newImage(t, FormatGray8, 200, 200)
		fill(src, image.Rect(0, 0, 200, 200), byte(i+1))
		must(t, erode.Run(src, dst))
		equal(t, "pixels", bytes.Count(dst.Pix(0), []byte{byte(i + 1)}), 200*200)
	}
	close(stop)
	group.Wait()
}
